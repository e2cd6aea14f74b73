/**
 * Chooses the tokens of one prefill step: the next chunk of the oldest request, and chunks of others that fit beside it with little
 * padding. Invariant: a chunk's length depends on its own sequence alone, so other sequences do not change how it is cut.
 */
import type { Version } from "../domain/Episode.ts";
import type { Chunk } from "./StepPlan.ts";

/** More new tokens of a prefill than half of this are padded to multiples of it. */
export const TIME_BUCKET = 16;

/** The positions to which the new tokens of a step are padded, so that few shapes occur: 2, 4, 8, or a multiple of `TIME_BUCKET`. */
export const paddedTime = (tokens: number): number =>
  tokens <= TIME_BUCKET / 2
    ? 2 ** Math.max(1, Math.ceil(Math.log2(tokens)))
    : Math.ceil(tokens / TIME_BUCKET) * TIME_BUCKET;
/** The places of valid tokens in rows that are right padded to `time` positions. */
export interface ValidTokens {
  /** Indices into rows * time, in order, then 0 up to a padded number of tokens. */
  readonly valid: BigInt64Array;
  /** Index into `valid` of each of the rows * time positions, 0 for padding. */
  readonly ranks: BigInt64Array;
}

/** Returns the places of the first `lengths` tokens of each row. */
export const validTokens = (lengths: BigInt64Array, time: number): ValidTokens => {
  const total = lengths.reduce((sum, length) => sum + Number(length), 0);
  const valid = new BigInt64Array(paddedTime(total));
  const ranks = new BigInt64Array(lengths.length * time);
  let rank = 0;
  for (const [row, length] of lengths.entries())
    for (let i = 0; i < length; i++) {
      const position = row * time + i;
      ranks[position] = BigInt(rank);
      valid[rank++] = BigInt(position);
    }
  return { valid, ranks };
};

/** Padding in tokens that is worth saving a step. */
const PADDING = 256;

/** A sequence or prefix of `length` tokens that is not fully cached. Its next chunk ends at `end` at the latest. */
export interface FeedCandidate {
  readonly version: Version;
  readonly cached: number;
  readonly end: number;
  readonly length: number;
  readonly ticket: number;
}

export interface PackedChunk<A> extends Omit<Chunk, "sequence"> {
  readonly item: A;
}

export interface PackedStep<A> {
  readonly version: Version;
  readonly chunks: readonly PackedChunk<A>[];
}

/** Packs at most `prefillTokens` tokens, padding included. Throws a RangeError without candidates. */
export const pack = <A extends FeedCandidate>(candidates: readonly A[], prefillTokens: number): PackedStep<A> => {
  const byTicket = candidates.toSorted((a, b) => a.ticket - b.ticket);
  const [oldest] = byTicket;
  if (oldest === undefined) throw new RangeError("there is nothing to feed");
  const { version, cached } = oldest;
  const chunks: PackedChunk<A>[] = [];
  let widest = 0;
  let tokens = 0;
  for (const item of byTicket) {
    // Rows with and without cached tokens need different graphs.
    if (item.version !== version || item.cached > 0 !== cached > 0) continue;
    const count = Math.min(item.end - item.cached, prefillTokens);
    const width = Math.max(widest, paddedTime(count));
    const padded = width * (chunks.length + 1);
    const isWasteful = padded > prefillTokens || padded > 2 * (tokens + count) + PADDING;
    if (chunks.length > 0 && isWasteful) continue;
    widest = width;
    tokens += count;
    chunks.push({ item, start: item.cached, count, isLast: item.cached + count === item.length });
  }
  return { version, chunks };
};
