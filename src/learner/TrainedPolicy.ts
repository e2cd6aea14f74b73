/**
 * A policy and a critic in training, wherever they compute: here on the learner's lanes, or on a server. What a trainer makes of a window is the
 * same over each. Not re-entrant: a trainer asks for one thing at a time.
 */
import type { CreditedBatch, TokenBatch } from "../domain/Batch.ts";
import type { Version } from "../domain/Episode.ts";
import type { NonFinitePart } from "./NonFinitePart.ts";

/** What the policy's loss needs beside the ids, each [tokens]. */
export interface PolicyTargets {
  /** Log-probability the ratio is taken against. */
  readonly old: Float32Array;
  readonly advantages: Float32Array;
  readonly importance: Float32Array;
  /** Log-probability under the reference policy, with a KL loss. */
  readonly reference: Float32Array | undefined;
  /** Where pi_prox lies between `old`, mu, and the policy, with a log-linear proximal policy. */
  readonly places?: Float32Array | undefined;
}

/** Parts of the policy's loss over a mini-batch, aggregated, before their coefficients. */
export interface PolicyLossParts {
  readonly surrogate: number;
  /** Undefined where a server does not tell it. */
  readonly entropy: number | undefined;
  /** Undefined without a KL loss. */
  readonly kl: number | undefined;
}

/** What an optimiser step came to. */
export interface OptimiserStep {
  /** Global norm of the gradient before clipping; undefined where a server does not tell it. */
  readonly norm: number | undefined;
  /** False when nothing changed: something was not finite, or there was no gradient. */
  readonly applied: boolean;
  readonly notFinite: NonFinitePart | null;
}

export interface PolicyStep extends PolicyLossParts, OptimiserStep {}

export interface TrainedPolicy {
  /** Log-probability of every trained id of the batch given those before it, 0 elsewhere, [tokens]. */
  readonly score: (batch: TokenBatch) => Promise<Float32Array>;
  /** One optimiser step over the mini-batch `mini`; `logp` [tokens] receives the log-probabilities before it. */
  readonly step: (
    batch: TokenBatch,
    mini: readonly number[],
    targets: PolicyTargets,
    lr: number,
    logp: Float32Array,
  ) => Promise<PolicyStep>;
  /** Makes of the weights, as the last step left them, the version that others are given. */
  readonly commitVersion: (version: Version) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface CriticStep extends OptimiserStep {
  readonly loss: number;
}

export interface TrainedCritic {
  /** Value of every trained token, 0 elsewhere, [tokens]. */
  readonly values: (batch: TokenBatch) => Promise<Float32Array>;
  /** One optimiser step over the mini-batch `mini`; `predicted` [tokens] receives the values before it. */
  readonly step: (
    batch: CreditedBatch,
    mini: readonly number[],
    lr: number,
    predicted: Float32Array,
  ) => Promise<CriticStep>;
  readonly close: () => Promise<void>;
}

/** The reference policy, to which a divergence is taken. */
export interface TrainedReference {
  readonly score: (batch: TokenBatch) => Promise<Float32Array>;
  /** Becomes the policy as it is now. */
  readonly renew: () => void | Promise<void>;
}
