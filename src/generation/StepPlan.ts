/**
 * The scheduler's decision for the next step: rows to swap, prefixes to copy, and the one step to run. It has positions and counts only;
 * the generator loop has the ids.
 */
import type { CacheFill, Version } from "../domain/Episode.ts";
import type { FeedTrace } from "./FeedTrace.ts";

export interface Sequence {
  readonly id: number;
  /** Weights version that the sequence is held to; null follows the newest. */
  readonly pin: Version | null;
  /** Key and length of the shared prefix that it opens with; length 0 without one. */
  readonly prefixKey: string;
  readonly prefixLength: number;
  /** A sequence is `waiting` for a row, `active` in steps, or `idle` between requests. */
  phase: "waiting" | "active" | "idle";
  /** Cache row; -1 without one. */
  row: number;
  /** Tokens of its history. */
  length: number;
  /** Leading tokens whose keys and values are in its row. */
  cached: number;
  /** Record of how its tokens were first fed. Tokens within the trace that are not cached are fed again. */
  trace: FeedTrace;
  /** Cache fills since its last reply; undefined if they are not recorded. */
  fills: readonly CacheFill[] | undefined;
  /** Order of its open request among all requests. */
  ticket: number;
  /** Time of its last request's end, on the scheduler's clock. */
  lastUsed: number;
}

/** A prefix shared by sequences, in a row of the prefixes' separate cache. */
export interface Prefix {
  readonly version: Version;
  readonly length: number;
  readonly row: number;
  cached: number;
  /** Time of the last plan that needed it, on the scheduler's clock. */
  lastNeeded: number;
}

/** `count` tokens of a sequence from position `start`. `isLast` is true if they complete its history, so that the next token is drawn. */
export interface Chunk {
  readonly sequence: Sequence;
  readonly start: number;
  readonly count: number;
  readonly isLast: boolean;
}

/** A chunk of a prefix. Its tokens are read from a sequence that opens with the prefix. */
export interface PrefixChunk extends Chunk {
  readonly prefix: Prefix;
}

/** Two rows whose contents are exchanged. */
export interface RowSwap {
  readonly a: number;
  readonly b: number;
}

/** A copy of a prefix's first `count` positions into a sequence's row. */
export interface PrefixLoad {
  readonly sequence: Sequence;
  readonly prefix: Prefix;
  readonly count: number;
}

export interface PrefixStep {
  readonly kind: "prefix";
  readonly version: Version;
  readonly chunks: readonly PrefixChunk[];
}

export interface PrefillStep {
  readonly kind: "prefill";
  readonly version: Version;
  readonly chunks: readonly Chunk[];
}

/** Chunks of one token, of sequences whose rows are in [from, to). */
export interface DecodeStep {
  readonly kind: "decode";
  readonly version: Version;
  readonly chunks: readonly Chunk[];
  readonly from: number;
  readonly to: number;
  /** True if sequences of other versions wait for a decode step too. */
  readonly isSplit: boolean;
}

export interface StepPlan {
  /** Swaps happen in order, before anything else. */
  readonly swaps: readonly RowSwap[];
  /** Loads happen after the swaps. */
  readonly loads: readonly PrefixLoad[];
  readonly step: { readonly kind: "none" } | PrefixStep | PrefillStep | DecodeStep;
}
