/**
 * Whether an OpenEnv server listens at an address, for an environment's `lacks`: no sentence when `/health` answers as OpenEnv's does,
 * else one that says what is wrong and what to start.
 */
import { Schema } from "effect";
import { decoded, parseJson } from "./Channel.ts";
import type { Connection } from "./Connection.ts";
import { get } from "./exchange.ts";
import { RemoteError } from "./RemoteError.ts";
import { retrying } from "./retry.ts";

const decodeHealth = Schema.decodeUnknownResult(Schema.Struct({ status: Schema.String }));

const ask = async (to: Connection): Promise<void> => {
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
  const health = decoded(decodeHealth(parseJson(text, from)), text, from);
  // Degraded servers still play.
  if (health.status === "unhealthy") return fail("refused", `${from} says that its server is unhealthy`);
};

/** Empty when the server is there; `start` completes the sentence "start ...". */
export const lacking = async (to: Connection, start: string): Promise<readonly string[]> => {
  const { token_variable: name } = to;
  if (name !== "" && process.env[name] === undefined) {
    return [`env_config.token_variable: the environment has no variable ${name}, so ${to.url} is not asked`];
  }
  try {
    // One more attempt at most: this is asked before a run begins, and often there is no server yet.
    const limits = { ...to, retries: Math.min(1, to.retries) };
    await retrying(limits, null, new AbortController().signal, () => ask(to));
    return [];
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    // The server is there and says itself what is wrong.
    if (error.reason === "refused") return [error.message];
    return [`${error.message}; start ${start}, or say in env_config.url where one listens`];
  }
};
