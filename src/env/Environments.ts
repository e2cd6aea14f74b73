/**
 * The environments as the rollout sees them: states in, states out, text rendered where the step ran. Carrying the pure state in and
 * out lets any thread step any episode; what a state holds elsewhere is given back by `release`. A step that fails is data for its
 * episode (`StepFailure`), never a failure of the run.
 */
import { Context, type Effect } from "effect";
import type { FailureReason } from "../domain/Episode.ts";
import type { EnvironmentError } from "../domain/Errors.ts";
import type { Info } from "../domain/Info.ts";
import type { StreamKey } from "../domain/Random.ts";
import type { Split } from "./Environment.ts";

/** What the model may be shown of a state. */
export interface View {
  /** Opaque to everyone but its environment; structured-cloneable. */
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
}

export interface StepResult {
  readonly view: View;
  readonly executed: number;
  /** Sum over the executed actions. */
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly success: boolean;
  /** Numeric and boolean info fields, summed over the executed actions. */
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
     * Gives back what an episode holds elsewhere; `state` is that of the last view it got. Whoever steps calls it however the episode
     * ends. Does nothing for a pure environment, nor for a state whose step failed or that was given back before.
     */
    readonly release: (tag: string, state: unknown) => Effect.Effect<void>;
  }
>()("millrace/env/Environments") {}
