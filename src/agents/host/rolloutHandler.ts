/** Plays episodes of an agent in a server of the user's: a handler of `POST /rollout`, which a run with `agent.url` asks. */
import { Result, Schema } from "effect";
import { hasToken } from "../../support/http/Guard.ts";
import type { Agent } from "./Agent.ts";
import { episodeOf, type LoadedAgent, runEpisode } from "./AgentRunner.ts";
import type { AgentResult } from "./outcome.ts";
import { taskSource } from "./tasks.ts";

/** An episode as a run asks a server for it. */
const RolloutRequest = Schema.Struct({
  /** Address of the run's endpoint, without `/v1`. */
  endpoint: Schema.String,
  apiKey: Schema.String,
  split: Schema.Literals(["train", "val"]),
  seed: Schema.Number,
  group: Schema.Number,
  member: Schema.Number,
  level: Schema.optionalKey(Schema.String),
});
export type RolloutRequest = typeof RolloutRequest.Type;

const decode = Schema.decodeUnknownResult(RolloutRequest);

/** The token of a handler, and where its agent's tasks lie. */
export interface RolloutHandlerOptions {
  /** The token that the run sends (its `MILLRACE_TOKEN`); without one, every request is answered. */
  readonly token?: string | undefined;
  /** Folder of a tasks file that the agent names; default the working directory. */
  readonly folder?: string;
}

const reply = (status: number, body: unknown): Response => Response.json(body, { status });

/** The outcome as the run reads it. */
const outcomeOf = ({ metrics, rewards, success }: AgentResult) => {
  const { calls, whole } = rewards;
  if (calls.size === 0) return { reward: whole, success, metrics };
  const turns = Array.from({ length: Math.max(...calls.keys()) + 1 }, (_, at) => calls.get(at) ?? 0);
  return { turns, success, metrics };
};

const noEnvironment = () =>
  Promise.reject(new Error("episode.environment: an agent in a server of your own has no environments of the run"));

/**
 * A handler of requests, as Node's frameworks, Next, Hono and Deno take it: `(request: Request) => Promise<Response>`. It plays the episode that a
 * run asks for and answers with its outcome; an error of the agent is a reply of 500, which fails the episode.
 */
export const rolloutHandler = <Task>(
  agent: Agent<Task>,
  { folder = ".", token }: RolloutHandlerOptions = {},
): ((request: Request) => Promise<Response>) => {
  let loading: Promise<LoadedAgent> | null = null;
  const load = (): Promise<LoadedAgent> => {
    loading ??= taskSource(`${folder}/agent`, agent).then(
      (taskOf) => ({ agent: agent as Agent, taskOf }),
      (cause: unknown) => {
        // Tasks that cannot be read now may be there for the next request.
        loading = null;
        throw cause;
      },
    );
    return loading;
  };
  return async (request) => {
    if (request.method !== "POST") return reply(405, { error: "an episode is asked for by POST" });
    if (token !== undefined && !hasToken(request.headers.get("authorization") ?? undefined, token)) {
      return reply(401, { error: "the token is asked for: Authorization: Bearer TOKEN" });
    }
    const order = decode(await request.json().catch(() => null));
    if (Result.isFailure(order)) return reply(400, { error: "the body is no episode of a run" });
    try {
      const noise = { seed: 0, purpose: "noise", counters: [] } as const;
      const episode = episodeOf({ ...order.success, noise }, noEnvironment);
      return reply(200, outcomeOf(await runEpisode(await load(), episode, request.signal)));
    } catch (cause) {
      return reply(500, { error: cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause) });
    }
  };
};
