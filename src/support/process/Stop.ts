/**
 * Stops a run from outside. The first signal (INT, TERM or HUP) requests an orderly stop: close admission, drain, checkpoint. The
 * second ends the process at once with exit code 130.
 */
import { Clock, Context, Deferred, Effect, Layer, Schema, type Scope } from "effect";
import { monotonicMillisOf } from "../../domain/Instant.ts";
import { exitNow } from "./exitNow.ts";

export class Stop extends Context.Service<
  Stop,
  {
    /** Suspends until a stop is requested. */
    readonly requested: Effect.Effect<void>;
    readonly request: Effect.Effect<void>;
  }
>()("millrace/process/Stop") {}

/** A stop was requested before the work had begun. */
export class StoppedEarly extends Schema.TaggedError<StoppedEarly>()("StoppedEarly", { message: Schema.String }) {}

const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Milliseconds after the first signal in which another one counts as its echo. npm passes on a Ctrl-C that the terminal has
 * already sent to the process, and a closing terminal hangs up more than once.
 */
const echoMs = 250;

/** The meaning of a signal at `now`, after the first one at `first`, both in milliseconds. */
export const signalMeaning = (first: number | null, now: number): "stop" | "echo" | "abort" => {
  if (first === null) return "stop";
  return now - first < echoMs ? "echo" : "abort";
};

/**
 * Listens to the signals while the scope lives, and until the echo of the first one can no longer come: an echo without a
 * listener would end the process.
 */
export const stopOnSignals: Effect.Effect<typeof Stop.Service, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock;
  const stopRequested = Deferred.makeUnsafe<void>();
  const request = Effect.asVoid(Deferred.succeed(stopRequested, undefined));
  let first: number | null = null;
  const listener = (): void => {
    const now = monotonicMillisOf(clock);
    const meaning = signalMeaning(first, now);
    if (meaning === "abort") exitNow(130);
    first ??= now;
    Deferred.doneUnsafe(stopRequested, Effect.void);
  };
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      for (const name of names) process.on(name, listener);
    }),
    () =>
      Effect.sync(() => {
        const end = (): void => {
          for (const name of names) process.off(name, listener);
        };
        const left = first === null ? 0 : first + echoMs - monotonicMillisOf(clock);
        if (left <= 0) end();
        else setTimeout(end, left).unref();
      }),
  );
  return Stop.of({ requested: Deferred.await(stopRequested), request });
});

/** A stop by signals, or by the program. */
export const layer: Layer.Layer<Stop> = Layer.effect(Stop, stopOnSignals);

/** A stop by the program only. */
export const layerWithoutSignals: Layer.Layer<Stop> = Layer.sync(Stop, () => {
  const stopRequested = Deferred.makeUnsafe<void>();
  return Stop.of({
    requested: Deferred.await(stopRequested),
    request: Effect.asVoid(Deferred.succeed(stopRequested, undefined)),
  });
});

/**
 * Does `work`, such as loading, unless a stop is requested first. Then the work is interrupted, and the failure names the work as
 * `before`.
 */
export const unlessStopped = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  before: string,
): Effect.Effect<A, E | StoppedEarly, R | Stop> =>
  Effect.flatMap(Stop, ({ requested }) =>
    Effect.raceFirst(
      work,
      Effect.andThen(requested, Effect.fail(new StoppedEarly({ message: `stopped before ${before}` }))),
    ),
  );
