/** Servers with one queue in order of arrival. Growing serves who waits at once; shrinking takes no server from its holder. */
import type { Gauge } from "../../flow/Gauge.ts";

/** A server taken, to be given back. */
export type Taken = ReturnType<Gauge["callBegun"]> | null;

export class Station {
  readonly #waiting: ((taken: Taken) => void)[] = [];
  readonly #gauge: Gauge | null;
  #limit: number;
  #taken = 0;

  constructor(servers: number, gauge: Gauge | null = null) {
    this.#limit = servers;
    this.#gauge = gauge;
  }

  /** Servers taken. */
  get taken(): number {
    return this.#taken;
  }

  /** Calls `begin` once a server is the caller's; it is given back by `leave`. */
  enter(begin: (taken: Taken) => void): void {
    this.#gauge?.enqueued();
    if (this.#taken < this.#limit && this.#waiting.length === 0) this.#begin(begin);
    else this.#waiting.push(begin);
  }

  leave(taken: Taken = null): void {
    if (taken !== null) this.#gauge?.callEnded(taken);
    this.#gauge?.delivered();
    this.#taken--;
    this.#settle();
  }

  resize(servers: number): void {
    this.#limit = servers;
    this.#gauge?.resized(servers);
    this.#settle();
  }

  #begin(begin: (taken: Taken) => void): void {
    this.#taken++;
    begin(this.#gauge?.callBegun() ?? null);
  }

  #settle(): void {
    while (this.#taken < this.#limit) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#begin(next);
    }
  }
}
