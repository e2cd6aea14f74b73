/**
 * The table of cache rows and their owners. Rows are handed out lowest first; `gather` swaps rows to make a batch dense when holes cost
 * more than swaps. Invariants: `sequence.row` and the table agree; no row has two owners.
 */

import type { RowSwap } from "./StepPlan.ts";

interface RowOwner {
  row: number;
}

export class Rows<S extends RowOwner> {
  readonly #owners: (S | undefined)[];
  #used = 0;

  constructor(slots: number) {
    this.#owners = Array.from({ length: slots }, () => undefined);
  }

  get hasFree(): boolean {
    return this.#used < this.#owners.length;
  }

  /** Owners in row order. */
  get occupied(): readonly S[] {
    return this.#owners.filter((owner) => owner !== undefined);
  }

  give(sequence: S): void {
    const row = this.#owners.indexOf(undefined);
    if (row < 0) throw new RangeError("every row is taken");
    this.#owners[row] = sequence;
    sequence.row = row;
    this.#used++;
  }

  free(sequence: S): void {
    this.#owners[sequence.row] = undefined;
    sequence.row = -1;
    this.#used--;
  }

  /**
   * Swaps rows so that `batch` has neighbouring rows; does nothing while its holes are few. A hole wastes one row of each step, a swap
   * costs about two. Rows of owners for which `other` holds (those of other batches) are avoided if possible.
   */
  gather(batch: readonly S[], other: (owner: S) => boolean): readonly RowSwap[] {
    const rows = batch.map(({ row }) => row);
    const first = Math.min(...rows);
    const span = Math.max(...rows) + 1 - first;
    const holes = span - batch.length;
    if (holes <= Math.max(4, batch.length >> 2)) return [];
    // The target is the window of batch.length rows with most of the batch, then with fewest rows of other batches.
    const inBatch = new Set(batch);
    const score = (row: number): number => {
      const owner = this.#owners[row];
      if (owner === undefined) return 0;
      return inBatch.has(owner) ? 1000 : other(owner) ? -1 : 0;
    };
    let total = 0;
    for (let row = 0; row < batch.length; row++) total += score(row);
    let best = total;
    let start = 0;
    for (let row = batch.length; row < this.#owners.length; row++) {
      total += score(row) - score(row - batch.length);
      if (total > best) {
        best = total;
        start = row - batch.length + 1;
      }
    }
    const end = start + batch.length;
    const outside = batch.filter(({ row }) => row < start || row >= end);
    const swaps: RowSwap[] = [];
    let target = start;
    for (const sequence of outside) {
      while (inBatch.has(this.#owners[target]!)) target++;
      const from = sequence.row;
      const displaced = this.#owners[target];
      this.#owners[target] = sequence;
      this.#owners[from] = displaced;
      sequence.row = target;
      if (displaced !== undefined) displaced.row = from;
      swaps.push({ a: from, b: target });
      target++;
    }
    return swaps;
  }
}
