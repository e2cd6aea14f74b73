/**
 * A flow stage in virtual time, by the engine's rules: a finished item keeps its slot until there is room downstream, and waiting items are
 * served in order.
 */
import type { Gauge } from "../../flow/Gauge.ts";

export interface Sink<A> {
  /** Calls `accepted` when the item has room. */
  readonly offer: (item: A, accepted: () => void) => void;
}

export interface FlowOptions<In, Out> {
  /** Items that may wait in front of it. */
  readonly room: number;
  /** Items that are worked on, or wait for room in `next`. */
  readonly slots: number;
  readonly work: (item: In, done: (results: readonly Out[]) => void) => void;
  readonly next: Sink<Out>;
  readonly gauge?: Gauge | null;
  /** `done` makes a producer wait until its item is done; otherwise it waits until there is room. */
  readonly handover?: "queued" | "done";
}

interface QueuedItem<A> {
  readonly item: A;
  readonly accepted: () => void;
}

export class FlowStage<In, Out> implements Sink<In> {
  readonly #options: FlowOptions<In, Out>;
  readonly #gauge: Gauge | null;
  readonly #buffer: QueuedItem<In>[] = [];
  readonly #outside: QueuedItem<In>[] = [];
  readonly #whenDone: boolean;
  #limit: number;
  #taken = 0;

  constructor(options: FlowOptions<In, Out>) {
    this.#options = options;
    this.#gauge = options.gauge ?? null;
    this.#whenDone = options.handover === "done";
    this.#limit = options.slots;
  }

  offer(item: In, accepted: () => void): void {
    const entry = { item, accepted };
    if (this.#buffer.length >= this.#options.room) {
      this.#outside.push(entry);
      return;
    }
    this.#admit(entry);
    this.#begin();
  }

  resize(slots: number): void {
    this.#limit = slots;
    this.#gauge?.resized(slots);
    this.#begin();
  }

  #admit(entry: QueuedItem<In>): void {
    this.#buffer.push(entry);
    this.#gauge?.enqueued();
    if (!this.#whenDone) entry.accepted();
  }

  #begin(): void {
    while (this.#taken < this.#limit && this.#buffer.length > 0) {
      this.#taken++;
      const entry = this.#buffer.shift()!;
      this.#gauge?.begun();
      const producer = this.#outside.shift();
      if (producer !== undefined) this.#admit(producer);
      this.#options.work(entry.item, (results) => {
        this.#gauge?.finished();
        this.#deliver(entry, results, 0);
      });
    }
  }

  #deliver(entry: QueuedItem<In>, results: readonly Out[], from: number): void {
    if (from < results.length) {
      this.#options.next.offer(results[from]!, () => this.#deliver(entry, results, from + 1));
      return;
    }
    this.#gauge?.delivered();
    this.#taken--;
    if (this.#whenDone) entry.accepted();
    this.#begin();
  }
}
