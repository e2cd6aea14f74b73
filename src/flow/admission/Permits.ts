/**
 * Resizable permits for work that runs on its caller's fiber: at most `limit` callers hold one. Invariants: a free permit goes to the
 * longest waiter at once, urgent ones first; shrinking takes no permit from its holder.
 *
 * Effect's `Semaphore` copies its waiters at every release: among 10 000 callers of 8 permits a call costs 40 times as much there (`npm run
 * bench -- stage-overhead`).
 */
import { Effect } from "effect";

export interface Permits {
  /** Suspends until a slot is free; whoever got one must call `release`. */
  readonly acquire: Effect.Effect<void>;
  /** The same, before those who are not urgent. */
  readonly acquireUrgently: Effect.Effect<void>;
  /** Acquires a slot, and calls `onJoined` once it has one or stands in the line. */
  readonly join: (isUrgent: boolean, onJoined: () => void) => Effect.Effect<void>;
  /** Takes a slot that is free now; false where there is none. */
  readonly tryAcquire: () => boolean;
  readonly release: () => void;
  readonly resize: (limit: number) => void;
  readonly limit: () => number;
}

const ignore = (): void => {};

interface Waiter {
  readonly resume: (effect: Effect.Effect<void>) => void;
}

export const makeUnsafe = (initial: number): Permits => {
  const waiters = new Set<Waiter>();
  const urgent = new Set<Waiter>();
  let limit = initial;
  let granted = 0;
  let isGranting = false;

  /** The line whose first is next; null where nobody waits. */
  const nextLine = (): Set<Waiter> | null => [urgent, waiters].find(({ size }) => size > 0) ?? null;

  // A resumed fiber runs inline and may release again: the flag turns that recursion into this loop.
  const grantFree = (): void => {
    if (isGranting) return;
    isGranting = true;
    for (let line = nextLine(); granted < limit && line !== null; line = nextLine()) {
      const waiter: Waiter = line.values().next().value!;
      line.delete(waiter);
      granted++;
      waiter.resume(Effect.void);
    }
    isGranting = false;
  };

  const tryAcquire = (): boolean => {
    const isFree = granted < limit && nextLine() === null;
    if (isFree) granted++;
    return isFree;
  };

  const join: Permits["join"] = (isUrgent, onJoined) =>
    Effect.callback<void>((resume) => {
      if (tryAcquire()) {
        onJoined();
        resume(Effect.void);
        return;
      }
      const line = isUrgent ? urgent : waiters;
      const waiter: Waiter = { resume };
      line.add(waiter);
      onJoined();
      return Effect.sync(() => void line.delete(waiter));
    });

  return {
    acquire: join(false, ignore),
    acquireUrgently: join(true, ignore),
    join,
    tryAcquire,
    release: () => {
      granted--;
      grantFree();
    },
    resize: (next) => {
      limit = next;
      grantFree();
    },
    limit: () => limit,
  };
};

/** Runs an effect while it holds a permit. `onJoined` is called once it has one or stands in the line. */
type Wrap = <A, E, R>(effect: Effect.Effect<A, E, R>, urgent: boolean, onJoined?: () => void) => Effect.Effect<A, E, R>;

/** Wraps effects so that at most `limit` of them run, in the order they come, urgent ones first. */
export const limitTo = (limit: number): Wrap => {
  const permits = makeUnsafe(limit);
  return (effect, urgent, onJoined = ignore) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.andThen(
        restore(permits.join(urgent, onJoined)),
        Effect.ensuring(restore(effect), Effect.sync(permits.release)),
      ),
    );
};
