/**
 * The control routes of the endpoint, for agents that a run does not call as a function: open an episode, report rewards and the end, look. All but
 * the first carry the episode's key. Invariant: a request with a key that is sent twice changes nothing the second time.
 */
import { Effect, Schema } from "effect";
import { isReward } from "../../domain/Episode.ts";
import { hasToken } from "../../support/http/Guard.ts";
import { badRequest, Problem } from "../../support/http/Problem.ts";
import type { Reply } from "../../support/http/Reply.ts";
import type { Route, RouteRequest } from "../../support/http/Route.ts";
import { keyOf } from "../dialects/wire.ts";
import type { EpisodeAccount, EpisodeEnd } from "../host/EpisodeAccount.ts";
import type { OutsideAgents } from "../host/OutsideAgents.ts";
import { rewardForm, totalOf } from "../host/outcome.ts";
import type { Session } from "./Session.ts";
import type { Sessions } from "./Sessions.ts";

export interface ControlSettings {
  readonly sessions: Sessions;
  /** Programs that open episodes; null where the run starts its agents itself. */
  readonly outside: OutsideAgents | null;
  /** The token that opening an episode asks for; null asks for none. */
  readonly token: string | null;
  /** Seconds that an episode may take. */
  readonly seconds: number;
}

/** Seconds after which a program may ask again for an episode. */
const retrySeconds = 1;

const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

const OpenBody = Schema.Struct({ split: Schema.optional(Schema.Literals(["train", "val"])) });
const RewardBody = Schema.Struct({ reward: Schema.Unknown, call: Schema.optional(Schema.NullOr(Schema.String)) });
const EndBody = Schema.Struct({
  status: Schema.optional(Schema.Literals(["done", "failed", "aborted"])),
  message: Schema.optional(Schema.String),
  reward: Schema.optional(Schema.Unknown),
  turns: Schema.optional(Schema.Unknown),
  success: Schema.optional(Schema.Unknown),
  metrics: Schema.optional(Schema.Unknown),
});

/** Reads a body; an empty one is an empty object. */
const readBody = <A>(schema: Schema.Codec<A, unknown>, { text }: RouteRequest): Effect.Effect<A, Problem> =>
  Effect.flatMap(text, (body) =>
    Effect.try({
      try: () => Schema.decodeUnknownSync(schema)(body.trim() === "" ? {} : JSON.parse(body)),
      catch: (cause) =>
        badRequest(cause instanceof SyntaxError ? "the body is no JSON" : "the body has not the fields of this route"),
    }),
  );

interface ControlledEpisode {
  readonly account: EpisodeAccount;
  /** Null once the episode has ended. */
  readonly session: Session | null;
}

/** The episode of a request's key. */
const episodeOf = (sessions: Sessions, { headers }: RouteRequest): Effect.Effect<ControlledEpisode, Problem> => {
  const key = keyOf(headers) ?? "";
  const session = sessions.find(key);
  if (session === undefined) return new Problem({ status: 401, message: "this key belongs to no episode" });
  const account = sessions.accountOf(key);
  if (account === null) {
    return new Problem({ status: 409, message: "the reward of this episode is what the agent's run returns" });
  }
  return Effect.succeed({ account, session: session === "ended" ? null : session });
};

const ended = new Problem({ status: 410, message: "this episode has ended" });

const open = Effect.fnUntraced(function* ({ outside, seconds, token }: ControlSettings, request: RouteRequest) {
  if (outside === null) {
    return yield* new Problem({
      status: 409,
      message: "this run starts its agents itself; agent.outside: true opens it",
    });
  }
  if (token !== null && !hasToken(request.headers.authorization, token)) {
    return yield* new Problem({
      status: 401,
      message: "the run's token is asked for: Authorization: Bearer MILLRACE_TOKEN",
    });
  }
  const { split = null } = yield* readBody(OpenBody, request);
  const episode = outside.open(split);
  if (episode === null) {
    const message = "no episode waits to be opened: the run plays and trains those that it has";
    return json(429, { error: { message, type: "rate_limit_error" } }, { "retry-after": String(retrySeconds) });
  }
  const { apiKey, endpoint, group, level, member, seed, split: opened } = episode.order;
  return json(200, {
    apiKey,
    baseURL: `${endpoint}/v1`,
    anthropicBaseURL: endpoint,
    task: episode.task ?? null,
    ...{ split: opened, seed, group, member, level, seconds },
  });
});

const reward = Effect.fnUntraced(function* ({ sessions }: ControlSettings, request: RouteRequest) {
  const { account, session } = yield* episodeOf(sessions, request);
  const { call = null, reward: value } = yield* readBody(RewardBody, request);
  if (!isReward(value)) return yield* badRequest(`reward: ${JSON.stringify(value) ?? "it is missing"}: ${rewardForm}`);
  if (session === null || account.end !== null) return yield* ended;
  const node = call === null ? null : session.callOf(answerIdOf(call));
  if (call !== null && node === null) {
    return yield* badRequest(`call: ${JSON.stringify(call.slice(0, 80))} is the id of no answer of this episode`);
  }
  account.setReward(node === null ? null : node.number, value);
  return json(200, { reward: value, call });
});

/** The id of an answer without its dialect's prefix. */
const answerIdOf = (id: string): string => id.replace(/^(?:chatcmpl-|resp_|msg_)/, "");

const reportEnd = Effect.fnUntraced(function* ({ sessions }: ControlSettings, request: RouteRequest) {
  const { account, session } = yield* episodeOf(sessions, request);
  const { message = "its agent gave it up", status = "done", ...outcome } = yield* readBody(EndBody, request);
  const end: EpisodeEnd = { status, message, outcome };
  if (session === null && account.end === null) return yield* ended;
  const problem = account.reportEnd(end);
  if (problem !== null) return yield* new Problem({ status: account.end === null ? 400 : 409, message: problem });
  return json(200, { status });
});

const look = Effect.fnUntraced(function* ({ sessions }: ControlSettings, request: RouteRequest) {
  const { account, session } = yield* episodeOf(sessions, request);
  const { rewards } = account;
  return json(200, {
    status: session === null ? "ended" : "open",
    calls: session?.tree.size ?? null,
    reward: rewards === null ? null : totalOf(rewards),
    limit: session?.limit ?? null,
  });
});

export const controlRoutes = (settings: ControlSettings): readonly Route[] => [
  { method: "POST", path: "/v1/episodes", handle: (request) => open(settings, request) },
  { method: "GET", path: "/v1/episode", handle: (request) => look(settings, request) },
  { method: "POST", path: "/v1/episode/reward", handle: (request) => reward(settings, request) },
  { method: "POST", path: "/v1/episode/end", handle: (request) => reportEnd(settings, request) },
];
