/**
 * Hands cache rows to sequences. Requests wait in the order received, and the least recently used sequence between requests loses its row
 * to one that waits. Invariant: a sequence with an open request never loses its row.
 */

import { toBucket } from "./KeyValueCache.ts";
import { Rows } from "./Rows.ts";
import type { RowSwap, Sequence } from "./StepPlan.ts";

/** The rows of a cache, and how it grows: in whole buckets up to a limit. */
export interface RowGrowth {
  readonly rows: number;
  readonly bucket: number;
  readonly limit: number;
}

/**
 * Returns the rows that a cache needs for a plan's `swaps` and the `occupied` rows, which come in row order. A cache that grows doubles at
 * least, so that it seldom grows.
 */
export const neededRows = (
  { bucket, limit, rows }: RowGrowth,
  swaps: readonly RowSwap[],
  occupied: readonly Sequence[],
): number => {
  let last = occupied.at(-1)?.row ?? -1;
  // A sequence that is loaded from a prefix may decode at once, so rows that are swapped may be new.
  for (const { a, b } of swaps) last = Math.max(last, a, b);
  return last < rows ? rows : Math.min(limit, toBucket(Math.max(2 * rows, last + 1), bucket));
};

export class RowQueue {
  readonly #rows: Rows<Sequence>;
  #waiting: Sequence[] = [];

  constructor(slots: number) {
    this.#rows = new Rows(slots);
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** The sequences that have a row, in row order. */
  get occupied(): readonly Sequence[] {
    return this.#rows.occupied;
  }

  /** Opens a request: its sequence keeps the row it has, or waits for one. */
  join(sequence: Sequence): void {
    if (sequence.row >= 0) sequence.phase = "active";
    else {
      sequence.phase = "waiting";
      this.#waiting.push(sequence);
    }
  }

  /** Ends a request; its sequence keeps its row, if it has one. */
  leave(sequence: Sequence): void {
    if (sequence.phase === "waiting") this.#waiting = this.#waiting.filter((other) => other !== sequence);
    sequence.phase = "idle";
  }

  /** Takes away a sequence's row, if it has one, and with it the cached tokens. */
  vacate(sequence: Sequence): void {
    if (sequence.row < 0) return;
    this.#rows.free(sequence);
    sequence.cached = 0;
  }

  /** Gives rows to as many waiting sequences as there are free or idle rows. */
  admit(): void {
    let admitted = 0;
    for (const sequence of this.#waiting) {
      if (!this.#rows.hasFree) {
        const evicted = this.#leastRecentlyUsed();
        if (evicted === undefined) break;
        this.vacate(evicted);
      }
      this.#rows.give(sequence);
      sequence.phase = "active";
      admitted++;
    }
    if (admitted > 0) this.#waiting = this.#waiting.slice(admitted);
  }

  /** See `Rows.gather`. */
  gather(batch: readonly Sequence[], other: (sequence: Sequence) => boolean): readonly RowSwap[] {
    return this.#rows.gather(batch, other);
  }

  #leastRecentlyUsed(): Sequence | undefined {
    let oldest: Sequence | undefined;
    for (const sequence of this.#rows.occupied)
      if (sequence.phase === "idle" && (oldest === undefined || sequence.lastUsed < oldest.lastUsed)) oldest = sequence;
    return oldest;
  }
}
