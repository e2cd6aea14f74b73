/**
 * Resizable permits for work that runs on its caller's fiber: at most `limit` callers hold one, and they get it in the order they asked.
 * Invariant: a freed or added slot goes to the longest waiter at once; shrinking takes no slot from its holder.
 *
 * Made by hand because Effect's `Semaphore` copies its waiters at every release: among 10 000 callers of 8 slots a call costs 40 times as
 * much there (`npm run bench -- stage-overhead`).
 */
import { Effect } from "effect";

export interface Slots {
  /** Suspends until a slot is free; whoever got one must call `release`. */
  readonly acquire: Effect.Effect<void>;
  /** Takes a slot that is free now; false where there is none. */
  readonly tryAcquire: () => boolean;
  readonly release: () => void;
  readonly resize: (limit: number) => void;
  readonly limit: () => number;
}

interface Waiter {
  readonly resume: (effect: Effect.Effect<void>) => void;
}

export const makeUnsafe = (initial: number): Slots => {
  const waiters = new Set<Waiter>();
  let limit = initial;
  let taken = 0;
  let settling = false;

  // A resumed fiber runs inline and may release again: the flag turns that recursion into this loop.
  const settle = (): void => {
    if (settling) return;
    settling = true;
    while (taken < limit && waiters.size > 0) {
      const waiter: Waiter = waiters.values().next().value!;
      waiters.delete(waiter);
      taken++;
      waiter.resume(Effect.void);
    }
    settling = false;
  };

  const tryAcquire = (): boolean => {
    const free = taken < limit && waiters.size === 0;
    if (free) taken++;
    return free;
  };

  const acquire = Effect.callback<void>((resume) => {
    if (tryAcquire()) {
      resume(Effect.void);
      return;
    }
    const waiter: Waiter = { resume };
    waiters.add(waiter);
    return Effect.sync(() => void waiters.delete(waiter));
  });

  return {
    acquire,
    tryAcquire,
    release: () => {
      taken--;
      settle();
    },
    resize: (next) => {
      limit = next;
      settle();
    },
    limit: () => limit,
  };
};

/** Wraps effects so that at most `limit` of them are under way, in the order they were begun. */
export const within = (limit: number): (<A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) => {
  const held = makeUnsafe(limit);
  return (effect) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.andThen(restore(held.acquire), Effect.ensuring(restore(effect), Effect.sync(held.release))),
    );
};
