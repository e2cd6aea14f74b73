/** An agent in a server of the user's: one POST an episode, whose reply is the outcome. `rolloutHandler` answers it. */
import { Effect, Result } from "effect";
import { type AgentHost, within } from "./AgentHost.ts";
import { type HostFailure, hostFailure } from "./HostFailure.ts";
import { type AgentResult, readOutcome } from "./outcome.ts";
import type { RolloutRequest } from "./rolloutHandler.ts";

/** Characters of a server's error that a failure shows. */
const shownError = 300;

const messageOf = (body: unknown, text: string): string => {
  const error = typeof body === "object" && body !== null && "error" in body ? body.error : undefined;
  return typeof error === "string" ? error : text.replace(/\s+/g, " ").slice(0, shownError);
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The result of a server's reply. */
const resultOf = (status: number, text: string): Result.Result<AgentResult, HostFailure> => {
  const body = parsed(text);
  if (status !== 200) {
    return Result.fail(hostFailure("agent_error", `its server answered ${status}: ${messageOf(body, text)}`));
  }
  return Result.mapError(readOutcome(body), (message) => hostFailure("agent_error", message));
};

const causeOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof Error ? cause.cause.message : cause.message;
};

/** Posts episodes to `url`, with the token where there is one. */
export const make = (url: string, token: string | null, limits: { readonly seconds: number }): AgentHost => ({
  isControlled: false,
  play: ({ apiKey, endpoint, group, member, seed, split }) => {
    const order: RolloutRequest = { endpoint, apiKey, split, seed, group, member };
    const headers = {
      "content-type": "application/json",
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    };
    const post = Effect.tryPromise({
      try: async (signal) => {
        const response = await fetch(url, { method: "POST", headers, signal, body: JSON.stringify(order) });
        return { status: response.status, text: await response.text() };
      },
      catch: (cause) => hostFailure("agent_crashed", `its server at ${url} could not be asked: ${causeOf(cause)}`),
    });
    const episode = Effect.flatMap(post, ({ status, text }) => Effect.fromResult(resultOf(status, text)));
    return within(limits.seconds)(episode);
  },
});
