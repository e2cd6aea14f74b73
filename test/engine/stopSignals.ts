/** A process that stops as a run does: says when it listens and when a stop is asked for, and then goes on for ever. */
import { Effect } from "effect";
import * as Stop from "../../src/engine/Stop.ts";

await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const stop = yield* Stop.signals;
      const alive = setInterval(() => undefined, 60_000);
      yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(alive)));
      process.stdout.write("listening\n");
      yield* stop.requested;
      process.stdout.write("asked\n");
      yield* Effect.never;
    }),
  ),
);
