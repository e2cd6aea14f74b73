/**
 * What the scheduler decides for the next step: rows to move, prefixes to copy, and the one step to run.
 * Positions and counts only; the engine has the token values.
 */
import type { Version } from "../domain/Episode.ts";
import type { FeedTrace } from "./FeedTrace.ts";

export interface Sequence {
  readonly id: number;
  /** The weights version it is held to, or null for the newest. */
  readonly pin: Version | null;
  /** Key and length of the shared prefix it opens with; length 0 without one. */
  readonly prefixKey: string;
  readonly prefixLength: number;
  /** `waiting` for a row, `active` in steps, `idle` between requests. */
  phase: "waiting" | "active" | "idle";
  /** Cache row, -1 without. */
  row: number;
  /** Tokens of its history. */
  length: number;
  /** Leading tokens whose keys and values are in its row. */
  cached: number;
  /** How its tokens first came into a row: what is fed below the trace's length is fed again. */
  trace: FeedTrace;
  /** Order of its open request. */
  ticket: number;
  /** When its last request ended. */
  lastUsed: number;
}

/** A prefix shared by sequences, in a row of the prefixes' own cache. */
export interface Prefix {
  readonly version: Version;
  readonly length: number;
  readonly row: number;
  cached: number;
  /** The plan that last needed it. */
  lastNeeded: number;
}

/** `count` tokens of a sequence from position `start`; `last` when none are left to feed after them, so that the next token is drawn. */
export interface Chunk {
  readonly sequence: Sequence;
  readonly start: number;
  readonly count: number;
  readonly isLast: boolean;
}

/** The same of a prefix, whose tokens are those of a sequence that opens with it. */
export interface PrefixChunk extends Chunk {
  readonly prefix: Prefix;
}

/** Exchange the contents of two rows. */
export interface RowSwap {
  readonly a: number;
  readonly b: number;
}

/** The first `count` positions of a prefix for a sequence's row. */
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

/** Chunks of one token, of sequences whose rows lie in [from, to). */
export interface DecodeStep {
  readonly kind: "decode";
  readonly version: Version;
  readonly chunks: readonly Chunk[];
  readonly from: number;
  readonly to: number;
}

export interface StepPlan {
  /** In order, before anything else. */
  readonly swaps: readonly RowSwap[];
  /** After the moves. */
  readonly loads: readonly PrefixLoad[];
  readonly step: { readonly kind: "none" } | PrefixStep | PrefillStep | DecodeStep;
}
