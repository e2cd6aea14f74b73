/**
 * The service by which the rollout plays environments. Requests and answers carry the episode's state, so that any thread can step any
 * episode; text is rendered where the step ran, and `release` frees what a state holds elsewhere. A failed step is data for its
 * episode (`StepFailure`), never a failure of the run.
 */
import { Context, type Effect } from "effect";
import type { FailureReason } from "../../domain/Episode.ts";
import type { EnvironmentError } from "../../domain/Errors.ts";
import type { Info } from "../../domain/Info.ts";
import type { StreamKey } from "../../domain/Random.ts";
import type { Split } from "./Environment.ts";

/** A state with what the model may be shown of it. */
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
  /** Stream of the instance; shared by a group. */
  readonly instance: StreamKey;
  readonly split: Split;
}

export interface StepRequest {
  readonly tag: string;
  readonly state: unknown;
  /** Canonical action names, executed in order until the episode ends. */
  readonly actions: readonly string[];
  /** Noise stream of this episode's step; action i of the request draws from counters [..., i]. */
  readonly noise: StreamKey;
  /** The content key of the instance that is played; what one of its steps does to a thread is held against the others. */
  readonly instance?: string;
}

export interface StepResult {
  readonly view: View;
  readonly executed: number;
  /** Sum over the executed actions. */
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly success: boolean;
  /** Numeric and boolean info fields, merged over the executed actions (`domain/Info.ts`). */
  readonly info: Info;
}

/** Why one request failed; its batch-mates are not affected. */
export interface StepFailure {
  readonly _tag: "StepFailure";
  readonly reason: FailureReason;
  readonly message: string;
}

export class Environments extends Context.Service<
  Environments,
  {
    readonly reset: (request: ResetRequest) => Effect.Effect<View, StepFailure | EnvironmentError>;
    readonly step: (request: StepRequest) => Effect.Effect<StepResult, StepFailure | EnvironmentError>;
    /**
     * Frees what an episode holds elsewhere; `state` is that of its last view. Called once for every episode, however it ends. Does nothing
     * for a pure environment, for a state whose step failed, or for one that was released before.
     */
    readonly release: (tag: string, state: unknown) => Effect.Effect<void>;
  }
>()("millrace/env/Environments") {}
