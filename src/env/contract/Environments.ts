/**
 * The service by which the rollout plays environments. Requests and answers carry the episode's state, so that any thread can step any
 * episode; the thread that ran a step also renders its text. A failed step is data for its episode (`StepFailure`), never a failure of
 * the run.
 */
import { Context, type Effect } from "effect";
import type { Failure } from "../../domain/Episode.ts";
import type { EnvironmentError } from "../../domain/Errors.ts";
import type { Info } from "../../domain/Info.ts";
import type { StreamKey } from "../../domain/Random.ts";
import type { Split } from "./Environment.ts";

/** A state and the texts of it that a prompt may show. */
export interface View {
  /** Read only by its environment; structured-cloneable. */
  readonly state: unknown;
  readonly observation: string;
  readonly compact: string;
  /** Legal action names, or null for free text. */
  readonly actions: readonly string[] | null;
  readonly contentKey: string;
}

export interface ResetRequest {
  readonly tag: string;
  /** The stream that draws the instance; all episodes of a group share it. */
  readonly instance: StreamKey;
  readonly split: Split;
}

export interface StepRequest {
  readonly tag: string;
  readonly state: unknown;
  /** Canonical action names, executed in order until the episode ends. */
  readonly actions: readonly string[];
  /** The noise stream of this episode's step; action i of the request draws from counters [..., i]. */
  readonly noise: StreamKey;
  /** The content key of the instance that is played. Steps of one instance share the count of hangs and crashes that quarantines it. */
  readonly instance?: string;
}

export interface StepResult {
  readonly view: View;
  readonly executed: number;
  /** The sum of the rewards of the executed actions. */
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly success: boolean;
  /** Numeric and boolean info fields, merged over the executed actions (`domain/Info.ts`). */
  readonly info: Info;
  /** The texts that answer the executed calls, in order; absent for text actions. */
  readonly results?: readonly string[];
}

/** The failure of one request; its batch-mates are not affected. */
export interface StepFailure extends Failure {
  readonly _tag: "StepFailure";
}

export class Environments extends Context.Service<
  Environments,
  {
    readonly reset: (request: ResetRequest) => Effect.Effect<View, StepFailure | EnvironmentError>;
    readonly step: (request: StepRequest) => Effect.Effect<StepResult, StepFailure | EnvironmentError>;
    /**
     * Frees what an episode holds elsewhere; `state` is that of its last view. The rollout calls it once for every episode, however the
     * episode ends. It does nothing for a pure environment, a state whose step failed, or a state that was released before.
     */
    readonly release: (tag: string, state: unknown) => Effect.Effect<void>;
  }
>()("millrace/env/Environments") {}
