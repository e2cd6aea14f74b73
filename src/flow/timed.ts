/** An effect's result with the seconds it took, by the run's clock. */
import { Clock, Effect } from "effect";

export const timed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<readonly [A, number], E, R> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock;
    const start = clock.monotonicTimeNanosUnsafe();
    const result = yield* effect;
    return [result, Number(clock.monotonicTimeNanosUnsafe() - start) / 1e9] as const;
  });
