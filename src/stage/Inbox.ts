/**
 * A stage's bounded inbox together with its slots. In: items from producers, suspended while it is full; out: items to workers, one at
 * a time, each with a slot. Invariants: at most `capacity` items wait and at most `limit` are held by workers, exactly, also
 * while the limit changes; whoever waits is woken by the event it waits for; after `end` every item is still taken, and `drained`
 * fires once the last one is done.
 */
import { Effect } from "effect";
import type { Gauge } from "./Gauge.ts";

/** The producer's half. */
export interface Inlet<in A> {
  readonly offer: (item: A) => Effect.Effect<void>;
  /** No more items will come. */
  readonly end: Effect.Effect<void>;
}

/** Answers a worker when no more items will come. */
export const ended: unique symbol = Symbol("ended");

/** The workers' half. */
export interface Outlet<out A> {
  /** Suspends until there is an item and a free slot for it. */
  readonly take: Effect.Effect<A | typeof ended>;
  /** Gives back the slot of the last item, then takes. */
  readonly next: Effect.Effect<A | typeof ended>;
  readonly resize: (limit: number) => void;
}

export interface Inbox<in out A> extends Inlet<A>, Outlet<A> {}

export interface InboxOptions {
  readonly capacity: number;
  readonly limit: number;
  readonly gauge: Gauge;
  readonly drained: () => void;
}

interface Producer<out A> {
  readonly item: A;
  readonly resume: (effect: Effect.Effect<void>) => void;
}

export const makeUnsafe = <A>({ capacity, limit: initial, gauge, drained }: InboxOptions): Inbox<A> => {
  const buffer: A[] = [];
  const producers = new Set<Producer<A>>();
  const idle: ((effect: Effect.Effect<A | typeof ended>) => void)[] = [];
  let limit = initial;
  let taken = 0;
  let closed = false;
  let waking = false;

  const available = (): boolean => buffer.length > 0 && taken < limit;

  const pull = (): A => {
    const item = buffer.shift()!;
    taken++;
    gauge.begun();
    if (producers.size > 0) {
      const producer: Producer<A> = producers.values().next().value!;
      producers.delete(producer);
      buffer.push(producer.item);
      gauge.enqueued();
      queueMicrotask(() => producer.resume(Effect.void));
    }
    return item;
  };

  const settle = (): void => {
    waking = false;
    while (idle.length > 0 && available()) idle.pop()!(Effect.succeed(pull()));
  };

  // Who is woken runs inline, up to its first suspension. Woken in a microtask, it delays (and is measured as part of) neither the
  // producer that offers nor the worker that takes.
  const wake = (): void => {
    if (waking || idle.length === 0) return;
    waking = true;
    queueMicrotask(settle);
  };

  const finishIfDrained = (): void => {
    if (!closed || buffer.length > 0 || taken > 0) return;
    while (idle.length > 0) idle.pop()!(Effect.succeed(ended));
    drained();
  };

  const take = Effect.callback<A | typeof ended>((resume) => {
    if (available()) {
      resume(Effect.succeed(pull()));
      return;
    }
    if (closed && buffer.length === 0) {
      resume(Effect.succeed(ended));
      return;
    }
    idle.push(resume);
    return Effect.sync(() => {
      const index = idle.indexOf(resume);
      if (index >= 0) idle.splice(index, 1);
    });
  });

  return {
    offer: (item) =>
      Effect.callback<void>((resume) => {
        if (buffer.length < capacity) {
          buffer.push(item);
          gauge.enqueued();
          wake();
          resume(Effect.void);
          return;
        }
        const producer: Producer<A> = { item, resume };
        producers.add(producer);
        return Effect.sync(() => void producers.delete(producer));
      }),
    end: Effect.sync(() => {
      closed = true;
      finishIfDrained();
    }),
    take,
    next: Effect.suspend(() => {
      taken--;
      finishIfDrained();
      return take;
    }),
    resize: (next) => {
      limit = next;
      wake();
    },
  };
};
