/** Servers with one queue in order of arrival. A new server takes a waiting call at once; a removed one finishes its call first. */
import type { Gauge } from "../../flow/Gauge.ts";

/** A server taken, to be given back. */
export type CallHandle = ReturnType<Gauge["callBegun"]> | null;

export class Station {
  readonly #waiting: ((call: CallHandle) => void)[] = [];
  readonly #gauge: Gauge | null;
  #limit: number;
  #busy = 0;

  constructor(servers: number, gauge: Gauge | null = null) {
    this.#limit = servers;
    this.#gauge = gauge;
  }

  /** Servers taken. */
  get busy(): number {
    return this.#busy;
  }

  /** Calls `begin` once a server is the caller's; it is given back by `leave`. */
  enter(begin: (call: CallHandle) => void): void {
    this.#gauge?.enqueued();
    if (this.#busy < this.#limit && this.#waiting.length === 0) this.#begin(begin);
    else this.#waiting.push(begin);
  }

  leave(call: CallHandle = null): void {
    if (call !== null) this.#gauge?.callEnded(call);
    this.#gauge?.delivered();
    this.#busy--;
    this.#settle();
  }

  resize(servers: number): void {
    this.#limit = servers;
    this.#gauge?.resized(servers);
    this.#settle();
  }

  #begin(begin: (call: CallHandle) => void): void {
    this.#busy++;
    begin(this.#gauge?.callBegun() ?? null);
  }

  #settle(): void {
    while (this.#busy < this.#limit) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#begin(next);
    }
  }
}
