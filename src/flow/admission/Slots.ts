/**
 * Resizable permits for work that runs on its caller's fiber: at most `limit` callers hold one, and they get it in the order they asked,
 * urgent ones before all others. Invariant: a freed or added slot goes to the longest waiter of the urgent, else of all, at once; shrinking takes no slot from its holder.
 *
 * Made by hand because Effect's `Semaphore` copies its waiters at every release: among 10 000 callers of 8 slots a call costs 40 times as
 * much there (`npm run bench -- stage-overhead`).
 */
import { Effect } from "effect";

export interface Slots {
  /** Suspends until a slot is free; whoever got one must call `release`. */
  readonly acquire: Effect.Effect<void>;
  /** The same, before those who are not urgent. */
  readonly acquireUrgently: Effect.Effect<void>;
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
  const urgent = new Set<Waiter>();
  let limit = initial;
  let taken = 0;
  let settling = false;

  /** The line whose first is next; null where nobody waits. */
  const longest = (): Set<Waiter> | null => {
    if (urgent.size > 0) return urgent;
    return waiters.size > 0 ? waiters : null;
  };

  // A resumed fiber runs inline and may release again: the flag turns that recursion into this loop.
  const settle = (): void => {
    if (settling) return;
    settling = true;
    for (let line = longest(); taken < limit && line !== null; line = longest()) {
      const waiter: Waiter = line.values().next().value!;
      line.delete(waiter);
      taken++;
      waiter.resume(Effect.void);
    }
    settling = false;
  };

  const tryAcquire = (): boolean => {
    const free = taken < limit && longest() === null;
    if (free) taken++;
    return free;
  };

  const acquireIn = (line: Set<Waiter>) =>
    Effect.callback<void>((resume) => {
      if (tryAcquire()) {
        resume(Effect.void);
        return;
      }
      const waiter: Waiter = { resume };
      line.add(waiter);
      return Effect.sync(() => void line.delete(waiter));
    });

  return {
    acquire: acquireIn(waiters),
    acquireUrgently: acquireIn(urgent),
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

/** Wraps effects so that at most `limit` of them run, in the order they come, urgent ones first. */
export const around = (limit: number) => {
  const held = makeUnsafe(limit);
  return <A, E, R>(effect: Effect.Effect<A, E, R>, urgent: boolean): Effect.Effect<A, E, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.andThen(
        restore(urgent ? held.acquireUrgently : held.acquire),
        Effect.ensuring(restore(effect), Effect.sync(held.release)),
      ),
    );
};
