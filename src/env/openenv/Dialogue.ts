/**
 * One session of our server, as a pure state machine over a pure environment: a request gives the session after it and the reply. A request
 * that is refused changes nothing. A client that sends only seeds plays what `millrace trace` plays: the instance of the seed, and for
 * action t the noise of a stream of its own.
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
import { payloadOf } from "./Showing.ts";

export interface Host {
  readonly environment: BoundEnvironment;
  /** Steps of one episode at most. */
  readonly maxSteps: number;
}

/** The episode a session plays. */
export interface Episode {
  readonly episodeId: string | null;
  readonly seed: number;
  readonly state: unknown;
  readonly steps: number;
}

/** Null before the first reset. */
export type Dialogue = Episode | null;

export interface Refusal {
  readonly _tag: "Refused";
  readonly code: ErrorCode;
  readonly message: string;
  /** Where the request is wrong, as OpenEnv lists it. */
  readonly errors?: readonly JsonObject[];
}

export type Reply = { readonly _tag: "Observed"; readonly payload: Payload } | Refusal;

export interface Turn {
  readonly dialogue: Dialogue;
  readonly reply: Reply;
}

const issues = SchemaIssue.makeFormatterStandardSchemaV1();

/** A refusal that lists where a request does not fit its schema. */
export const misfit = (message: string, error: Schema.SchemaError): Refusal => ({
  _tag: "Refused",
  code: "VALIDATION_ERROR",
  message,
  errors: issues(error.issue).issues.map(({ message: msg, path }) => ({
    type: "value_error",
    loc: (path ?? []).map((key) => (typeof key === "object" ? String(key.key) : key)),
    msg,
  })),
});

export const refused = (code: ErrorCode, message: string): Refusal => ({ _tag: "Refused", code, message });

const decodeReset = Schema.decodeUnknownResult(ResetData);
const decodeAction = Schema.decodeUnknownResult(ServedAction, { onExcessProperty: "error" });

/** An error thrown by the environment, as the session's reply. */
const thrown = (error: unknown): Refusal => {
  if (error instanceof IllegalAction) {
    return {
      ...refused("VALIDATION_ERROR", error.message),
      errors: [
        { type: "enum", loc: ["action"], msg: error.message, input: error.action, ctx: { expected: error.valid } },
      ],
    };
  }
  return refused("EXECUTION_ERROR", error instanceof Error ? error.message : String(error));
};

/** `nextSeed` is asked where a reset names no seed. */
export const reset = (host: Host, dialogue: Dialogue, data: unknown, nextSeed: () => number): Turn => {
  const asked = decodeReset(data);
  if (Result.isFailure(asked)) return { dialogue, reply: misfit("the reset is not understood", asked.failure) };
  const { episode_id: episodeId = null, instance, split = "train" } = asked.success;
  const seed = instance?.seed ?? asked.success.seed ?? nextSeed();
  try {
    const draws = stream(instance ?? { seed, purpose: "instance", counters: [] });
    const state = host.environment.reset(draws, split);
    const payload = payloadOf(host.environment, state, null, { episode_id: episodeId, seed });
    return { dialogue: { episodeId, seed, state, steps: 0 }, reply: { _tag: "Observed", payload } };
  } catch (error) {
    return { dialogue, reply: thrown(error) };
  }
};

export const step = (host: Host, dialogue: Dialogue, data: unknown): Turn => {
  if (dialogue === null)
    return { dialogue, reply: refused("EXECUTION_ERROR", "there is no episode yet: reset comes first") };
  const asked = decodeAction(data);
  if (Result.isFailure(asked)) return { dialogue, reply: misfit("the action is not understood", asked.failure) };
  const { episodeId, seed, state, steps } = dialogue;
  if (steps >= host.maxSteps) {
    return { dialogue, reply: refused("SESSION_ERROR", `an episode has ${host.maxSteps} steps at most`) };
  }
  const { action, metadata } = asked.success;
  try {
    const noise = stream(metadata?.noise ?? { seed, purpose: "noise", counters: [steps] });
    const transition = host.environment.step(state, action, noise);
    const payload = payloadOf(host.environment, transition.state, transition, { episode_id: episodeId, seed });
    return {
      dialogue: { episodeId, seed, state: transition.state, steps: steps + 1 },
      reply: { _tag: "Observed", payload },
    };
  } catch (error) {
    return { dialogue, reply: thrown(error) };
  }
};

export const stateOf = (dialogue: Dialogue): EpisodeState => ({
  episode_id: dialogue?.episodeId ?? null,
  step_count: dialogue?.steps ?? 0,
});
