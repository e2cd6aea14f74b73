/**
 * A moment by two clocks. Waits, deadlines and rates within a process are counted by the monotonic clock. Invariant: that clock never goes back and
 * no step of the wall clock moves it; its origin is arbitrary, so it is never shown, written, or compared with another process's.
 */
import { Clock, Effect } from "effect";

export interface Instant {
  /** Milliseconds of the monotonic clock. */
  readonly monotonic: number;
  /** Unix milliseconds of the wall clock, to be shown and written. */
  readonly unix: number;
}

/** Milliseconds of the monotonic clock. */
export const monotonicMillisOf = (clock: Pick<Clock.Clock, "monotonicTimeNanosUnsafe">): number =>
  Number(clock.monotonicTimeNanosUnsafe()) / 1e6;

/** Milliseconds of the run's monotonic clock. */
export const monotonicMillis: Effect.Effect<number> = Clock.clockWith((clock) =>
  Effect.sync(() => monotonicMillisOf(clock)),
);

/** This moment. */
export const currentInstant: Effect.Effect<Instant> = Clock.clockWith((clock) =>
  Effect.sync(() => ({ monotonic: monotonicMillisOf(clock), unix: clock.currentTimeMillisUnsafe() })),
);

/** The result of an effect, and the seconds that it took by the run's monotonic clock. */
export const timed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<readonly [A, number], E, R> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock;
    const start = clock.monotonicTimeNanosUnsafe();
    const result = yield* effect;
    return [result, Number(clock.monotonicTimeNanosUnsafe() - start) / 1e9] as const;
  });
