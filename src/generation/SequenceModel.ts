/**
 * A model with the caches of one generator thread, as the step runner uses it. On the CPU caches are in host memory (CachedModel.ts) and the
 * sampler draws from logits; a device that keeps its tensors draws too (ResidentModel.ts).
 * Invariant: a token drawn is a function of the row's logits, its sampling and its uniform number.
 */

import type { Sampling } from "./Policy.ts";
import type { DecodeStep, PrefillStep, PrefixStep, Sequence, StepPlan } from "./StepPlan.ts";

/** Ids of a sequence's history. */
export type HistoryOf = (sequence: Sequence) => Int32Array;

/** How a row's next token is drawn. */
export interface Draw {
  readonly sampling: Sampling;
  readonly uniform: number;
}

export interface Token {
  readonly id: number;
  /** Log-probability of the id under what it was drawn from, nats. */
  readonly mu: number;
  readonly entropy: number;
}

/** Results of a step whose sequences or chunks are counted from 0. */
export interface StepResults {
  /** The row stays as it is from here on, `count` tokens longer. Not called for what was let go while the step ran. */
  readonly keep: (index: number) => void;
  /** Valid until the next token is asked for. Throws NotFiniteLogits. */
  readonly token: (index: number) => Token;
}

export interface SequenceModel<W> {
  /** Brings the caches in line with a plan and the sequences that have rows. */
  readonly arrange: (plan: StepPlan, occupied: readonly Sequence[]) => Promise<void> | void;
  /** One token a sequence of the step; `draws` in the order of its chunks, undefined where no token is wanted after it. */
  readonly decode: (
    weights: W,
    step: DecodeStep,
    of: HistoryOf,
    draws: readonly (Draw | undefined)[],
  ) => Promise<StepResults>;
  /** The next tokens of sequences; a draw for each chunk after which one is wanted. */
  readonly feed: (
    weights: W,
    step: PrefillStep,
    of: HistoryOf,
    draws: readonly (Draw | undefined)[],
  ) => Promise<StepResults>;
  /** The next tokens of prefixes, kept at once. */
  readonly feedPrefixes: (weights: W, step: PrefixStep, of: HistoryOf) => Promise<void>;
}
