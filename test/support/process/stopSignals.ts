/**
 * A process that stops as a run does: says when it listens and when a stop is asked for, and then goes on for ever. Each look at its
 * clock is a second after the one before.
 */
import { Clock, Effect } from "effect";
import * as Stop from "../../../src/support/process/Stop.ts";

const live = Effect.runSync(Clock.Clock);
let nanos = 0n;
const hurried: Clock.Clock = {
  currentTimeMillis: live.currentTimeMillis,
  currentTimeMillisUnsafe: () => live.currentTimeMillisUnsafe(),
  currentTimeNanos: live.currentTimeNanos,
  currentTimeNanosUnsafe: () => live.currentTimeNanosUnsafe(),
  monotonicTimeNanos: live.monotonicTimeNanos,
  monotonicTimeNanosUnsafe: () => {
    nanos += 1_000_000_000n;
    return nanos;
  },
  sleep: (duration) => live.sleep(duration),
};

await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const stop = yield* Stop.stopOnSignals;
      const alive = setInterval(() => undefined, 60_000);
      yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(alive)));
      process.stdout.write("listening\n");
      yield* stop.requested;
      process.stdout.write("asked\n");
      yield* Effect.never;
    }),
  ).pipe(Effect.provideService(Clock.Clock, hurried)),
);
