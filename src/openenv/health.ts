/**
 * Whether a server is there. Enters: a connection and what to start where there is none; leaves: the sentences of `lacks`, none when
 * `/health` answers as OpenEnv's does.
 */
import { Schema } from "effect";
import { decoded, parseJson } from "./Channel.ts";
import type { Connection } from "./Connection.ts";
import { get } from "./get.ts";
import { RemoteError } from "./RemoteError.ts";
import { retrying } from "./retry.ts";

const decodeHealth = Schema.decodeUnknownResult(Schema.Struct({ status: Schema.String }));

const ask = async (to: Connection): Promise<void> => {
  const { from, status, text } = await get(to, "/health");
  const fail = (reason: RemoteError["reason"], message: string): never => {
    throw new RemoteError({ reason, message });
  };
  if (status !== 200) return fail("nonsense", `${from} answers with status ${status}, so no OpenEnv server is there`);
  const health = decoded(decodeHealth(parseJson(text, from)), text, from);
  // Degraded servers still play.
  if (health.status === "unhealthy") return fail("refused", `${from} says that its server is unhealthy`);
};

/** Empty when the server is there; `start` completes the sentence "start ...". */
export const lacking = async (to: Connection, start: string): Promise<readonly string[]> => {
  try {
    // Once more at most: this asks whether to begin, and a server that is not there is the usual answer.
    const patience = { ...to, retries: Math.min(1, to.retries) };
    await retrying(patience, null, new AbortController().signal, () => ask(to));
    return [];
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    return [`${error.message}; start ${start}, or say in env_config.url where one listens`];
  }
};
