/**
 * Lockstep's barrier in front of a service: calls are let through turn by turn, none before every live episode of the window has made its
 * own. Invariant: a turn opens exactly when all live episodes wait; when an episode ends, also by interruption, the others wait for one less.
 *
 * All episodes of a window must be in flight together: the rollout's concurrency is at least the groups of a window.
 */
import { Effect } from "effect";

export interface Barrier {
  /** So many more episodes will take part; to be called before the first of them starts. */
  readonly expect: (episodes: number) => Effect.Effect<void>;
  /** So many of the expected episodes will never start. */
  readonly cancelExpected: (episodes: number) => Effect.Effect<void>;
  /** Runs one expected episode and counts it out when it ends in any way. */
  readonly wrapEpisode: <A, E, R>(episode: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>;
  /** Suspends until all live episodes have arrived. */
  readonly arrive: Effect.Effect<void>;
}

export const make: Effect.Effect<Barrier> = Effect.sync(() => {
  let live = 0;
  let waiting = new Set<(effect: Effect.Effect<void>) => void>();
  const openIfComplete = (): void => {
    if (waiting.size === 0 || waiting.size < live) return;
    const turn = waiting;
    waiting = new Set();
    for (const resume of turn) resume(Effect.void);
  };
  const leave = (episodes: number): Effect.Effect<void> =>
    Effect.sync(() => {
      live -= episodes;
      openIfComplete();
    });
  return {
    expect: (episodes) =>
      Effect.sync(() => {
        live += episodes;
      }),
    cancelExpected: leave,
    wrapEpisode: (episode) => Effect.ensuring(episode, leave(1)),
    arrive: Effect.callback<void>((resume) => {
      waiting.add(resume);
      openIfComplete();
      return Effect.sync(() => void waiting.delete(resume));
    }),
  };
});
