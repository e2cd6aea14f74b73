/**
 * Policy, critic and reference as a trainer uses them, on the learner's lanes or on a training server. Invariant: they are not re-entrant;
 * a trainer makes one call at a time.
 */
import type { CreditedBatch, TokenBatch } from "../domain/Batch.ts";
import type { Version } from "../domain/Episode.ts";
import type { NonFinitePart } from "./NonFinitePart.ts";

/** Inputs of the policy's loss beside the ids, each [tokens]. */
export interface PolicyTargets {
  /** Log-probability that the ratio is taken against. */
  readonly old: Float32Array;
  readonly advantages: Float32Array;
  readonly importance: Float32Array;
  /** Log-probability under the reference policy; undefined without a KL loss. */
  readonly reference: Float32Array | undefined;
  /** Position of pi_prox between mu (0) and the policy (1); present with a log-linear proximal policy. */
  readonly places?: Float32Array | undefined;
}

/** Parts of the policy's loss over a mini-batch, aggregated, before their coefficients. */
export interface PolicyLossParts {
  readonly surrogate: number;
  /** Undefined if a server does not report it. */
  readonly entropy: number | undefined;
  /** Undefined without a KL loss. */
  readonly kl: number | undefined;
}

/** Outcome of one optimiser step. */
export interface OptimiserStep {
  /** Global norm of the gradient before clipping; undefined if a server does not report it. */
  readonly norm: number | undefined;
  /** False when nothing changed, because a number was not finite or there was no gradient. */
  readonly applied: boolean;
  readonly notFinite: NonFinitePart | null;
}

export interface PolicyStep extends PolicyLossParts, OptimiserStep {}

export interface TrainedPolicy {
  /** Returns the log-probability of every trained id given the ids before it, [tokens], 0 elsewhere. */
  readonly score: (batch: TokenBatch) => Promise<Float32Array>;
  /** Takes one optimiser step over the mini-batch `mini`. Writes the log-probabilities before the step into `logp` [tokens]. */
  readonly step: (
    batch: TokenBatch,
    mini: readonly number[],
    targets: PolicyTargets,
    lr: number,
    logp: Float32Array,
  ) => Promise<PolicyStep>;
  /** Makes the current weights available as `version` to checkpoints and generators. */
  readonly commitVersion: (version: Version) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface CriticStep extends OptimiserStep {
  readonly loss: number;
}

export interface TrainedCritic {
  /** Returns the value of every trained token, [tokens], 0 elsewhere. */
  readonly values: (batch: TokenBatch) => Promise<Float32Array>;
  /** Takes one optimiser step over the mini-batch `mini`. Writes the values before the step into `predicted` [tokens]. */
  readonly step: (
    batch: CreditedBatch,
    mini: readonly number[],
    lr: number,
    predicted: Float32Array,
  ) => Promise<CriticStep>;
  readonly close: () => Promise<void>;
}

/** The reference policy of a KL divergence. */
export interface TrainedReference {
  readonly score: (batch: TokenBatch) => Promise<Float32Array>;
  /** Replaces the reference by a copy of the current policy. */
  readonly renew: () => void | Promise<void>;
}
