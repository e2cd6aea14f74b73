/**
 * How a run is stopped from outside. The first interrupt signal asks for an orderly stop (close admission, drain, checkpoint), the second
 * ends the process at once with exit code 130.
 */
import { Clock, Context, Deferred, Effect, Layer, type Scope } from "effect";

export class Stop extends Context.Service<
  Stop,
  {
    /** Suspends until a stop is asked for. */
    readonly requested: Effect.Effect<void>;
    readonly request: Effect.Effect<void>;
  }
>()("millrace/engine/Stop") {}

/** npm passes a terminal's Ctrl-C on to a process that the terminal has signalled already: so soon after the first it is the same one. */
const echoMs = 250;

/** What a signal means at `now`, after the first one of this process at `first`, milliseconds. */
export const meaningOf = (first: number | null, now: number): "stop" | "echo" | "abort" => {
  if (first === null) return "stop";
  return now - first < echoMs ? "echo" : "abort";
};

/** Listens to SIGINT and SIGTERM while the scope lives. */
export const signals: Effect.Effect<typeof Stop.Service, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock;
  const asked = Deferred.makeUnsafe<void>();
  const request = Effect.asVoid(Deferred.succeed(asked, undefined));
  let first: number | null = null;
  const listener = (): void => {
    const now = Number(clock.monotonicTimeNanosUnsafe()) / 1e6;
    const meaning = meaningOf(first, now);
    if (meaning === "abort") process.exit(130);
    first ??= now;
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
  return Stop.of({ requested: Deferred.await(asked), request });
});

/** Stopped by signals, or from the program. */
export const layer: Layer.Layer<Stop> = Layer.effect(Stop, signals);

/** Stopped from the program only. */
export const onRequest: Layer.Layer<Stop> = Layer.sync(Stop, () => {
  const asked = Deferred.makeUnsafe<void>();
  return Stop.of({
    requested: Deferred.await(asked),
    request: Effect.asVoid(Deferred.succeed(asked, undefined)),
  });
});
