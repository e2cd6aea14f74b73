/**
 * Checks for an environment's `lacks` that an OpenEnv server listens at an address. It gives no sentence if `/health` answers as OpenEnv's does, else
 * one with the problem and what to start.
 */
import { Schema } from "effect";
import { decodeOrThrow, parseJson } from "./Channel.ts";
import type { Connection } from "./Connection.ts";
import { get } from "./exchange.ts";
import { RemoteError } from "./RemoteError.ts";
import { withRetries } from "./retry.ts";

const decodeHealth = Schema.decodeUnknownResult(Schema.Struct({ status: Schema.String }));

const checkHealth = async (to: Connection): Promise<void> => {
  const { from, status, text } = await get(to, "/health");
  const fail = (reason: RemoteError["reason"], message: string): never => {
    throw new RemoteError({ reason, message });
  };
  if (status === 401) {
    return fail(
      "refused",
      `${from} asks for a token: env_config.token_variable names the environment variable that has it`,
    );
  }
  if (status !== 200) return fail("nonsense", `${from} answers with status ${status}, so no OpenEnv server is there`);
  const health = decodeOrThrow(decodeHealth(parseJson(text, from)), text, from);
  // Degraded servers still play.
  if (health.status === "unhealthy") return fail("refused", `${from} says that its server is unhealthy`);
};

/** The sentences for `lacks`, empty if the server is ready; `start` completes the sentence "start ...". */
export const lacksServer = async (to: Connection, start: string): Promise<readonly string[]> => {
  const { token_variable: name } = to;
  if (name !== "" && process.env[name] === undefined) {
    return [`env_config.token_variable: the environment has no variable ${name}, so ${to.url} is not asked`];
  }
  try {
    // There is one more attempt at most, because the check precedes a run, and often no server is there yet.
    const limits = { ...to, retries: Math.min(1, to.retries) };
    await withRetries(limits, null, new AbortController().signal, () => checkHealth(to));
    return [];
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    // The server is there and names the problem itself.
    if (error.reason === "refused") return [error.message];
    return [`${error.message}; start ${start}, or say in env_config.url where one listens`];
  }
};
