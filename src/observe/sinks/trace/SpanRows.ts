/**
 * Lanes for spans that overlap: a span takes the lowest free one when it begins and gives it back when it ends. A pure state machine.
 * Invariants: two spans that overlap never share a lane; there are never more lanes than spans were open at once.
 */
export class SpanRows {
  readonly #isTaken: boolean[] = [];
  /** No lane below is free. */
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

  /** Lanes so far. */
  get count(): number {
    return this.#isTaken.length;
  }
}
