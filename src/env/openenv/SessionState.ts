/**
 * One session of our server, as a pure state machine over a pure environment: a request gives the next state and the reply, and a refused request
 * changes nothing. A client that sends only seeds plays as `millrace trace` does: the seed gives the instance, and the noise of action t has a
 * stream of its own.
 */
import { Result, Schema, SchemaIssue } from "effect";
import { stream } from "../../domain/Random.ts";
import type { BoundEnvironment } from "../contract/BoundEnvironment.ts";
import { IllegalAction } from "../contract/IllegalAction.ts";
import {
  type EpisodeState,
  type ErrorCode,
  type JsonObject,
  type Payload,
  ResetData,
  ServedAction,
} from "./Protocol.ts";
import { payloadOf } from "./ServedObservation.ts";

export interface ServedEnvironment {
  readonly environment: BoundEnvironment;
  /** The most steps of one episode. */
  readonly maxSteps: number;
}

/** The episode that a session plays. */
export interface Episode {
  readonly episodeId: string | null;
  readonly seed: number;
  readonly state: unknown;
  readonly steps: number;
}

/** The episode of a session; null before the first reset. */
export type SessionState = Episode | null;

export interface Refusal {
  readonly _tag: "Refused";
  readonly code: ErrorCode;
  readonly message: string;
  /** The wrong parts of the request, as OpenEnv lists them. */
  readonly errors?: readonly JsonObject[];
}

export type Reply = { readonly _tag: "Observed"; readonly payload: Payload } | Refusal;

export interface SessionChange {
  readonly session: SessionState;
  readonly reply: Reply;
}

const issues = SchemaIssue.makeFormatterStandardSchemaV1();

/** A refusal that lists the parts of a request that do not fit its schema. */
export const schemaRefusal = (message: string, error: Schema.SchemaError): Refusal => ({
  _tag: "Refused",
  code: "VALIDATION_ERROR",
  message,
  errors: issues(error.issue).issues.map(({ message: msg, path }) => ({
    type: "value_error",
    loc: (path ?? []).map((key) => (typeof key === "object" ? String(key.key) : key)),
    msg,
  })),
});

export const refusalOf = (code: ErrorCode, message: string): Refusal => ({ _tag: "Refused", code, message });

const decodeReset = Schema.decodeUnknownResult(ResetData);
const decodeAction = Schema.decodeUnknownResult(ServedAction, { onExcessProperty: "error" });

/** The reply for an error that the environment throws. */
const refusalOfError = (error: unknown): Refusal => {
  if (error instanceof IllegalAction) {
    return {
      ...refusalOf("VALIDATION_ERROR", error.message),
      errors: [
        { type: "enum", loc: ["action"], msg: error.message, input: error.action, ctx: { expected: error.valid } },
      ],
    };
  }
  return refusalOf("EXECUTION_ERROR", error instanceof Error ? error.message : String(error));
};

/** Resets the session; `nextSeed` gives the seed if the request names none. */
export const reset = (
  host: ServedEnvironment,
  session: SessionState,
  data: unknown,
  nextSeed: () => number,
): SessionChange => {
  const request = decodeReset(data);
  if (Result.isFailure(request))
    return { session, reply: schemaRefusal("the reset is not understood", request.failure) };
  const { episode_id: episodeId = null, instance, split = "train" } = request.success;
  const seed = instance?.seed ?? request.success.seed ?? nextSeed();
  try {
    const draws = stream(instance ?? { seed, purpose: "instance", counters: [] });
    const state = host.environment.reset(draws, split);
    const payload = payloadOf(host.environment, state, null, { episode_id: episodeId, seed });
    return { session: { episodeId, seed, state, steps: 0 }, reply: { _tag: "Observed", payload } };
  } catch (error) {
    return { session, reply: refusalOfError(error) };
  }
};

export const step = (host: ServedEnvironment, session: SessionState, data: unknown): SessionChange => {
  if (session === null)
    return { session, reply: refusalOf("EXECUTION_ERROR", "there is no episode yet: reset comes first") };
  const request = decodeAction(data);
  if (Result.isFailure(request))
    return { session, reply: schemaRefusal("the action is not understood", request.failure) };
  const { episodeId, seed, state, steps } = session;
  if (steps >= host.maxSteps) {
    return { session, reply: refusalOf("SESSION_ERROR", `an episode has ${host.maxSteps} steps at most`) };
  }
  const { action, metadata } = request.success;
  try {
    const noise = stream(metadata?.noise ?? { seed, purpose: "noise", counters: [steps] });
    const transition = host.environment.step(state, action, noise);
    const payload = payloadOf(host.environment, transition.state, transition, { episode_id: episodeId, seed });
    return {
      session: { episodeId, seed, state: transition.state, steps: steps + 1 },
      reply: { _tag: "Observed", payload },
    };
  } catch (error) {
    return { session, reply: refusalOfError(error) };
  }
};

export const stateOf = (session: SessionState): EpisodeState => ({
  episode_id: session?.episodeId ?? null,
  step_count: session?.steps ?? 0,
});
