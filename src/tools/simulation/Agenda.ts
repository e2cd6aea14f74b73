/**
 * Virtual time, in milliseconds: events run in order of their time, equal ones in the order they were set. It is also the clock of the
 * simulated gauges.
 */
import { Heap } from "./Heap.ts";

export class Agenda {
  now = 0;
  #count = 0;
  #stopped = false;
  readonly #events = new Heap<{ readonly at: number; readonly order: number; readonly happen: () => void }>(
    (a, b) => a.at - b.at || a.order - b.order,
  );

  readonly monotonicTimeNanosUnsafe = (): bigint => BigInt(Math.round(this.now * 1e6));

  after(delay: number, happen: () => void): void {
    this.#events.push({ at: this.now + delay, order: this.#count++, happen });
  }

  /** After this, no event happens any more. */
  stop(): void {
    this.#stopped = true;
  }

  /** Runs until nothing is left, or the next event lies beyond `until`. */
  run(until = Number.POSITIVE_INFINITY): void {
    for (let next = this.#events.pop(); next !== undefined && !this.#stopped; next = this.#events.pop()) {
      if (next.at > until) return;
      this.now = next.at;
      next.happen();
    }
  }
}
