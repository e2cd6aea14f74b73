/**
 * A model with the caches of one generator thread, as the step runner uses it. CachedModel.ts keeps caches in host memory and draws from
 * logits; ResidentModel.ts keeps and draws on a device. Invariant: a drawn token is a function of the row's logits, its sampling and its
 * uniform number.
 */

import type { Sampling } from "./Policy.ts";
import type { DecodeStep, PrefillStep, PrefixStep, Sequence, StepPlan } from "./StepPlan.ts";

/** Returns the ids of a sequence's history. */
export type HistoryOf = (sequence: Sequence) => Int32Array;

/** Sampling and uniform number of a row's next token. */
export interface Draw {
  readonly sampling: Sampling;
  readonly uniform: number;
}

export interface Token {
  readonly id: number;
  /** Log-probability of the id under the distribution it was drawn from, nats. */
  readonly mu: number;
  readonly entropy: number;
}

/** Results of a step; an index is that of a chunk of the step. */
export interface StepResults {
  /** Stores the row's new tokens in its cache. It is not called for sequences that were released during the step. */
  readonly keep: (index: number) => void;
  /** Returns the drawn token, valid until the next call. Throws NotFiniteLogits. */
  readonly token: (index: number) => Token;
}

export interface SequenceModel<W> {
  /** Brings the caches in line with a plan and the sequences that have rows. */
  readonly arrange: (plan: StepPlan, occupied: readonly Sequence[]) => Promise<void> | void;
  /** Feeds one token per chunk of the step. `draws` are in the order of its chunks; one without a next token is undefined. */
  readonly decode: (
    weights: W,
    step: DecodeStep,
    historyOf: HistoryOf,
    draws: readonly (Draw | undefined)[],
  ) => Promise<StepResults>;
  /** Feeds the next tokens of sequences. `draws` are in the order of its chunks; one without a next token is undefined. */
  readonly feed: (
    weights: W,
    step: PrefillStep,
    historyOf: HistoryOf,
    draws: readonly (Draw | undefined)[],
  ) => Promise<StepResults>;
  /** Feeds the next tokens of prefixes and stores them at once. */
  readonly feedPrefixes: (weights: W, step: PrefixStep, historyOf: HistoryOf) => Promise<void>;
}
