/**
 * A stage's bounded inbox together with its slots. Producers suspend while it is full; workers take one item at a time, each with a slot.
 * Invariants: at most `capacity` items wait, and workers hold at most `limit`, also while the limit changes; after `end` every item is
 * still taken, and `onDrained` fires once the last one is done.
 *
 * An item and its slot are counted in one step, which keeps the gauges exact. Over Effect's `Queue` and `Semaphore` a line of four stages
 * also costs up to 2.3 times as much an item (`npm run bench -- stage-overhead`).
 */
import { Effect } from "effect";
import type { Gauge } from "./Gauge.ts";

/** The producer's half of an inbox. */
export interface Inlet<in A> {
  /** Suspends while the inbox is full; where the hand-over is `done`, until the item has been worked on and passed on. */
  readonly offer: (item: A) => Effect.Effect<void>;
  /** No more items will come. */
  readonly end: Effect.Effect<void>;
}

/** Answers a worker when no more items will come. */
export const ended: unique symbol = Symbol("ended");

type Resume<A> = (effect: Effect.Effect<A>) => void;

/** An item, and its producer where that still waits. */
export interface QueuedItem<out A> {
  readonly item: A;
  readonly producer: Resume<void> | null;
}

/** When a producer goes on: once its item is in the inbox, or once it is done. */
export type Handover = "queued" | "done";

export interface InboxOptions {
  readonly capacity: number;
  readonly limit: number;
  readonly handover: Handover;
  readonly gauge: Gauge;
  readonly onDrained: () => void;
}

export class Inbox<in out A> implements Inlet<A> {
  readonly #options: InboxOptions;
  readonly #buffer: QueuedItem<A>[] = [];
  /** Producers for whose items there was no room. */
  readonly #outside = new Set<QueuedItem<A>>();
  readonly #idle: Resume<QueuedItem<A> | typeof ended>[] = [];
  readonly #halting: Resume<void>[] = [];
  #limit: number;
  #taken = 0;
  #closed = false;
  #halted = false;
  #waking = false;

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#limit = options.limit;
  }

  readonly offer = (item: A): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      const queued: QueuedItem<A> = { item, producer: resume };
      if (this.#buffer.length < this.#options.capacity) {
        this.#admit(queued);
        this.#wake();
        return;
      }
      this.#outside.add(queued);
      return Effect.sync(() => void this.#outside.delete(queued));
    });

  readonly end: Effect.Effect<void> = Effect.sync(() => {
    this.#closed = true;
    this.#finishIfDrained();
  });

  /** Suspends until there is an item and a free slot for it. For workers. */
  readonly take: Effect.Effect<QueuedItem<A> | typeof ended> = Effect.callback((resume) => {
    if (this.#available()) {
      resume(Effect.succeed(this.#pull()));
      return;
    }
    if (this.#closed && this.#buffer.length === 0) {
      resume(Effect.succeed(ended));
      return;
    }
    this.#idle.push(resume);
    return Effect.sync(() => {
      const index = this.#idle.indexOf(resume);
      if (index >= 0) this.#idle.splice(index, 1);
    });
  });

  /** Gives back the slot of a finished item, then takes. */
  next(finished: QueuedItem<A>): Effect.Effect<QueuedItem<A> | typeof ended> {
    return Effect.suspend(() => {
      this.#taken--;
      if (this.#options.handover === "done") finished.producer?.(Effect.void);
      this.#finishIfDrained();
      if (this.#taken === 0) for (const resume of this.#halting.splice(0)) resume(Effect.void);
      return this.take;
    });
  }

  resize(limit: number): void {
    this.#limit = limit;
    this.#wake();
  }

  /** Takes no item any more, for good; suspends until those held by workers are done. */
  readonly halt: Effect.Effect<void> = Effect.callback((resume) => {
    this.#halted = true;
    if (this.#taken === 0) resume(Effect.void);
    else this.#halting.push(resume);
  });

  #available(): boolean {
    return !this.#halted && this.#buffer.length > 0 && this.#taken < this.#limit;
  }

  #admit(queued: QueuedItem<A>): void {
    this.#buffer.push(queued);
    this.#options.gauge.enqueued();
    if (this.#options.handover === "queued") queued.producer?.(Effect.void);
  }

  #pull(): QueuedItem<A> {
    const queued = this.#buffer.shift();
    if (queued === undefined) throw new Error("an empty inbox was taken from");
    this.#taken++;
    this.#options.gauge.begun();
    const [next] = this.#outside;
    if (next !== undefined) {
      this.#outside.delete(next);
      this.#buffer.push(next);
      this.#options.gauge.enqueued();
      if (this.#options.handover === "queued") queueMicrotask(() => next.producer?.(Effect.void));
    }
    return queued;
  }

  // A resumed fiber runs inline, up to its first suspension. Resumed in a microtask, it delays neither the producer that offers nor the
  // worker that takes, and is not measured as part of them.
  #wake(): void {
    if (this.#waking || this.#idle.length === 0) return;
    this.#waking = true;
    queueMicrotask(() => {
      this.#waking = false;
      while (this.#available()) {
        const worker = this.#idle.pop();
        if (worker === undefined) return;
        worker(Effect.succeed(this.#pull()));
      }
    });
  }

  #finishIfDrained(): void {
    if (!this.#closed || this.#buffer.length > 0 || this.#taken > 0) return;
    for (const worker of this.#idle.splice(0)) worker(Effect.succeed(ended));
    this.#options.onDrained();
  }
}
