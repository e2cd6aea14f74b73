/**
 * How a run is stopped from outside. The first signal (INT, TERM or HUP) asks for an orderly stop: close admission, drain, checkpoint. The
 * second ends the process at once with exit code 130.
 */
import { Clock, Context, Deferred, Effect, Layer, Schema, type Scope } from "effect";
import { monotonicMillisOf } from "../../domain/Instant.ts";
import { exitNow } from "./exitNow.ts";

export class Stop extends Context.Service<
  Stop,
  {
    /** Suspends until a stop is asked for. */
    readonly requested: Effect.Effect<void>;
    readonly request: Effect.Effect<void>;
  }
>()("millrace/process/Stop") {}

/** A stop was asked for before the work had begun. */
export class StoppedEarly extends Schema.TaggedError<StoppedEarly>()("StoppedEarly", { message: Schema.String }) {}

const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * So soon after the first, a signal is the same one again: npm passes a terminal's Ctrl-C on to a process that the terminal has signalled
 * already, and a closing terminal hangs up more than once.
 */
const echoMs = 250;

/** What a signal means at `now`, after the first one of this process at `first`, milliseconds. */
export const signalMeaning = (first: number | null, now: number): "stop" | "echo" | "abort" => {
  if (first === null) return "stop";
  return now - first < echoMs ? "echo" : "abort";
};

/** Listens to the signals while the scope lives, and after it as long as the echo of the first one may come: it would end the process by itself. */
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

/** Stopped by signals, or from the program. */
export const layer: Layer.Layer<Stop> = Layer.effect(Stop, stopOnSignals);

/** Stopped from the program only. */
export const layerWithoutSignals: Layer.Layer<Stop> = Layer.sync(Stop, () => {
  const stopRequested = Deferred.makeUnsafe<void>();
  return Stop.of({
    requested: Deferred.await(stopRequested),
    request: Effect.asVoid(Deferred.succeed(stopRequested, undefined)),
  });
});

/** Does `work`, such as loading, unless a stop is asked for first: then it is interrupted, and `StoppedEarly` says `before` what. */
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
