/** An agent in a server of the user's: one POST an episode, whose reply is the outcome. `rolloutHandler` answers it. */
import { request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { text } from "node:stream/consumers";
import { Effect, Result } from "effect";
import { errorText, jsonOrUndefined } from "../../support/http/errorText.ts";
import { type AgentHost, within } from "./AgentHost.ts";
import { type HostFailure, hostFailure } from "./HostFailure.ts";
import { type AgentResult, readOutcome } from "./outcome.ts";
import type { RolloutRequest } from "./rolloutHandler.ts";

/** Characters of a server's error that a failure shows. */
const shownError = 300;

/** The result of a server's reply. */
const resultOf = (status: number, text: string): Result.Result<AgentResult, HostFailure> => {
  if (status !== 200) {
    const message = errorText(text).replace(/\s+/g, " ").slice(0, shownError);
    return Result.fail(hostFailure("agent_error", `its server answered ${status}: ${message}`));
  }
  return Result.mapError(readOutcome(jsonOrUndefined(text)), (message) => hostFailure("agent_error", message));
};

/** The message of an error. A host with several addresses fails with an error for each of them, and without a message of its own. */
const causeOf = (cause: unknown): string => {
  if (cause instanceof AggregateError && cause.message === "") return cause.errors.map(causeOf).join("; ");
  return cause instanceof Error ? cause.message : String(cause);
};

interface ServerReply {
  readonly status: number;
  readonly text: string;
}

/** Posts a body and reads the reply, however late it comes: Node's `fetch` gives up after five minutes. */
const post = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<ServerReply> =>
  new Promise((resolve, reject) => {
    const request = url.startsWith("https:") ? secureRequest : plainRequest;
    // A connection of its own: one that is kept may be closed by the server just as an episode is posted.
    const asking = request(url, { method: "POST", headers, signal, agent: false }, (response) => {
      const status = response.statusCode ?? 0;
      text(response).then((text) => resolve({ status, text }), reject);
    });
    asking.on("error", reject).end(body);
  });

/** Posts episodes to `url`, with the token where there is one. */
export const make = (url: string, token: string | null, limits: { readonly seconds: number }): AgentHost => ({
  isControlled: false,
  play: ({ noise: _, ...order }) => {
    const requested: RolloutRequest = order;
    const headers = {
      "content-type": "application/json",
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    };
    const posted = Effect.tryPromise({
      try: (signal) => post(url, headers, JSON.stringify(requested), signal),
      catch: (cause) => hostFailure("agent_crashed", `its server at ${url} could not be asked: ${causeOf(cause)}`),
    });
    const episode = Effect.flatMap(posted, ({ status, text }) => Effect.fromResult(resultOf(status, text)));
    return within(limits.seconds)(episode);
  },
});
