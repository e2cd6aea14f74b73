/**
 * The OpenEnv protocol as schemas: the messages in both directions and the error codes. Invariant: a message of the other side is decoded by one
 * of these schemas before any code reads it.
 *
 * The code relies on these facts (OpenEnv 0.2.3 to 0.3, its `core/env_server` and `core/env_client`):
 * - `GET /health` answers `{"status":"healthy"}`; `GET /metadata` a name, a description and nullable rest; `GET /schema` the JSON
 *   schemas of action, observation and state; `GET /state` at least `episode_id` and `step_count`.
 * - `POST /reset` takes `{seed?, episode_id?, ...}`, `POST /step` `{action, timeout_s?, request_id?, ...}`. Unknown keys are allowed and go to
 *   the environment if its signature names them. Both answer `{observation, reward, done}`, reward a number, a boolean or null. OpenEnv's
 *   server makes and closes an environment for each HTTP request. So an episode of several steps over HTTP needs a server that keeps
 *   episodes by `episode_id`, as ours does.
 * - `/ws` is a session: one environment per connection, from accept to close. Messages are `{"type":"reset","data":{...}}`,
 *   `{"type":"step","data":<the action itself>}`, `{"type":"state"}` and `{"type":"close"}`, without further keys. Each but `close` gets
 *   exactly one answer, in order and without an id: `{"type":"observation","data":{observation, reward, done}}`,
 *   `{"type":"state","data":{...}}` or `{"type":"error","data":{message, code, ...}}`. `close` ends the connection unanswered.
 * - A server that is full accepts the connection, sends the error CAPACITY_REACHED with `active_sessions` and `max_sessions`, and
 *   closes. One session at a time is OpenEnv's default.
 * - The session goes on after INVALID_JSON, UNKNOWN_TYPE, VALIDATION_ERROR (with `errors`) and EXECUTION_ERROR. It is over after
 *   CAPACITY_REACHED, FACTORY_ERROR and SESSION_ERROR. Over HTTP an action that does not fit is status 422 with `detail`.
 * - An action may carry no field that its class does not name, except `metadata`, which every action has. So a step's noise travels in
 *   `metadata`, and a reset's stream and split travel as further keys.
 * - `openenv validate` asks besides for `info.version` and the paths in `GET /openapi.json`, and for JSON-RPC from `POST /mcp`.
 * - `metadata` of an observation is dropped before 0.3.2 and stands beside `observation` from then on.
 */
import { Schema } from "effect";
import { LARGEST_REWARD } from "../../domain/Episode.ts";
import { purposes, type StreamKey } from "../../domain/Random.ts";

const nonNegativeInt = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0));

/** Any JSON object. */
export const JsonObject = Schema.Record(Schema.String, Schema.Unknown);
export type JsonObject = typeof JsonObject.Type;

export const errorCodes = [
  "INVALID_JSON",
  "UNKNOWN_TYPE",
  "VALIDATION_ERROR",
  "EXECUTION_ERROR",
  "CAPACITY_REACHED",
  "FACTORY_ERROR",
  "SESSION_ERROR",
] as const;
export type ErrorCode = (typeof errorCodes)[number];

const Reward = Schema.Finite.check(Schema.isBetween({ minimum: -LARGEST_REWARD, maximum: LARGEST_REWARD }));

/** The answer to a reset or a step. Unknown keys are ignored. */
export const Payload = Schema.Struct({
  observation: JsonObject,
  reward: Schema.optionalKey(Schema.NullOr(Schema.Union([Reward, Schema.Boolean]))),
  done: Schema.optionalKey(Schema.Boolean),
  metadata: Schema.optionalKey(Schema.NullOr(JsonObject)),
});
export type Payload = typeof Payload.Type;

/** A server's socket message. */
export const SocketAnswer = Schema.Union([
  Schema.Struct({ type: Schema.Literal("observation"), data: Payload }),
  Schema.Struct({ type: Schema.Literal("state"), data: JsonObject }),
  Schema.Struct({
    type: Schema.Literal("error"),
    data: Schema.Struct({ message: Schema.optionalKey(Schema.String), code: Schema.optionalKey(Schema.String) }),
  }),
]);
export type SocketAnswer = typeof SocketAnswer.Type;

/** A client's socket message. */
export const SocketRequest = Schema.Union([
  Schema.Struct({ type: Schema.Literal("reset"), data: Schema.optionalKey(JsonObject) }),
  Schema.Struct({ type: Schema.Literal("step"), data: JsonObject }),
  Schema.Struct({ type: Schema.Literal("state") }),
  Schema.Struct({ type: Schema.Literal("close") }),
]);
export type SocketRequest = typeof SocketRequest.Type;

export const socketTypes = ["reset", "step", "state", "close"] as const;

/** A stream's key in messages; the server draws from the same stream as a local environment would. */
const WireKey = Schema.Struct({
  seed: nonNegativeInt,
  purpose: Schema.Literals(purposes),
  counters: Schema.Array(nonNegativeInt).check(Schema.isMaxLength(16)),
}) satisfies Schema.Codec<StreamKey, unknown>;

/** The data of a reset. `split` and `instance` are ours: other servers ignore them. */
export const ResetData = Schema.Struct({
  seed: Schema.optionalKey(
    Schema.NullOr(nonNegativeInt).annotate({ description: "Seed of the instance; the server counts up without one." }),
  ),
  episode_id: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(255)))),
  split: Schema.optionalKey(Schema.Literals(["train", "val"])),
  instance: Schema.optionalKey(WireKey),
});
export type ResetData = typeof ResetData.Type;

/** An action of the environments that we serve. `noise` is our addition: the stream from which the transition draws. */
export const ServedAction = Schema.Struct({
  action: Schema.String.annotate({ description: "The action's text; one of `legal_actions` where they are listed." }),
  metadata: Schema.optionalKey(
    Schema.NullOr(Schema.StructWithRest(Schema.Struct({ noise: Schema.optionalKey(WireKey) }), [JsonObject])),
  ),
});
export type ServedAction = typeof ServedAction.Type;

/** `POST /step`; `episode_id` names the episode over HTTP. */
export const StepBody = Schema.Struct({
  action: JsonObject,
  episode_id: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(255)))),
});

/** `POST /close`, an addition of ours: ends an episode kept over HTTP. */
export const CloseBody = Schema.Struct({ episode_id: Schema.String.check(Schema.isMaxLength(255)) });

/** The path of another addition of ours, which describes the environment and how its replies are read. */
export const descriptionPath = "/millrace";

/** The state of an episode as OpenEnv names it. */
export const EpisodeState = Schema.Struct({
  episode_id: Schema.NullOr(Schema.String),
  step_count: nonNegativeInt,
});
export type EpisodeState = typeof EpisodeState.Type;

/** The address of a path of the server at `url`, which may be written with http or ws, and may have a path of its own. */
export const addressOf = (url: string, kind: "http" | "ws", path: string): string => {
  const base = url.replace(/\/+$/, "").replace(/^ws/i, "http");
  return `${kind === "ws" ? base.replace(/^http/i, "ws") : base}${path}`;
};
