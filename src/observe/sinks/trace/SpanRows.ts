/**
 * Rows for spans that overlap: a span takes the lowest free row when it begins and gives it back when it ends. A pure state
 * machine. Invariants: two spans that overlap never share a row; there are never more rows than spans were open at once.
 */
export class SpanRows {
  readonly #isTaken: boolean[] = [];
  /** No row below is free. */
  #lowest = 0;

  take(): number {
    while (this.#isTaken[this.#lowest] === true) this.#lowest++;
    this.#isTaken[this.#lowest] = true;
    return this.#lowest;
  }

  release(lane: number): void {
    this.#isTaken[lane] = false;
    this.#lowest = Math.min(this.#lowest, lane);
  }

  /** Rows so far. */
  get count(): number {
    return this.#isTaken.length;
  }
}
