/**
 * How a run is stopped from outside. The first interrupt signal asks for an orderly stop (close admission, drain, checkpoint), the second
 * ends the process at once with exit code 130. Enters: signals; leaves: an effect that completes at the first one.
 */
import { Deferred, Effect, type Scope } from "effect";

export interface Stop {
  /** Suspends until a stop is asked for. */
  readonly requested: Effect.Effect<void>;
  readonly request: Effect.Effect<void>;
}

/** Listens to SIGINT and SIGTERM while the scope lives. */
export const signals: Effect.Effect<Stop, never, Scope.Scope> = Effect.gen(function* () {
  const asked = Deferred.makeUnsafe<void>();
  const request = Effect.asVoid(Deferred.succeed(asked, undefined));
  const listener = (): void => {
    if (Deferred.isDoneUnsafe(asked)) process.exit(130);
    Deferred.doneUnsafe(asked, Effect.void);
  };
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      process.on("SIGINT", listener);
      process.on("SIGTERM", listener);
    }),
    () =>
      Effect.sync(() => {
        process.off("SIGINT", listener);
        process.off("SIGTERM", listener);
      }),
  );
  return { requested: Deferred.await(asked), request };
});
