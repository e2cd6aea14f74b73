/**
 * Connects the bus to the sinks for the life of a scope. In: records (an effectful path: each sink has taken one before the next is
 * read), samples and events (rxjs: a sink that is busy misses samples). Invariants: when the scope closes, everything recorded has
 * reached every sink before it is closed with the outcome; a sink that is not essential can fail without touching the run.
 */
import { Cause, Deferred, Effect, Exit, Fiber, type Scope } from "effect";
import { concatMap, exhaustMap, lastValueFrom, merge, share } from "rxjs";
import type { Bus, Pull } from "../stage/Bus.ts";
import { fromPull } from "./observable.ts";
import type { Outcome, RunInfo, Sink, SinkError } from "./Sink.ts";

export interface TelemetryOptions {
  readonly bus: Bus;
  readonly sinks: readonly Sink[];
  readonly run: RunInfo;
}

/**
 * Opens the sinks and feeds them until the scope closes; closing ends the bus. Fails when an essential sink cannot be opened. The
 * result fails when one breaks later, and never succeeds: the run is raced against it.
 */
export const attach = ({
  bus,
  sinks,
  run,
}: TelemetryOptions): Effect.Effect<Effect.Effect<never, SinkError>, SinkError, Scope.Scope> =>
  Effect.gen(function* () {
    const broken = Deferred.makeUnsafe<never, SinkError>();
    let stopped: string | null = null;
    bus.observe((event) => {
      if (event._tag === "Stopped") stopped ??= event.reason;
    });
    const feeds: readonly Feed[] = sinks.map((sink) => guard(sink, broken));
    for (const feed of feeds) {
      yield* Effect.acquireRelease(
        feed((sink) => sink.open(run)),
        (_, exit) => feed((sink) => sink.close(outcomeOf(exit, stopped))),
      );
    }
    if (Deferred.isDoneUnsafe(broken)) return yield* Deferred.await(broken);

    // Closed before the sinks are: what the bus still holds reaches them first.
    const context = yield* Effect.context<never>();
    const runPromise = Effect.runPromiseWith(context);
    const samples = fromPull(yield* bus.samples).pipe(share());
    const events = fromPull(yield* bus.events).pipe(share());
    yield* Effect.acquireRelease(
      Effect.gen(function* () {
        const records = yield* Effect.forkDetach(
          each(bus.records, (record) => all(feeds, (sink) => sink.step(record))),
        );
        const views = merge(
          ...feeds.map((feed) => samples.pipe(exhaustMap((sample) => runPromise(feed((sink) => sink.gauges(sample)))))),
          ...feeds.map((feed) => events.pipe(concatMap((event) => runPromise(feed((sink) => sink.event(event)))))),
        );
        return { records, views: lastValueFrom(views, { defaultValue: undefined }) };
      }),
      ({ records, views }) =>
        bus.close.pipe(Effect.andThen(Fiber.await(records)), Effect.andThen(Effect.promise(() => views))),
    );
    return Deferred.await(broken);
  });

/** Does something with a sink unless it has failed before. */
type Feed = (use: (sink: Sink) => Effect.Effect<void, SinkError>) => Effect.Effect<void>;

const guard = (sink: Sink, broken: Deferred.Deferred<never, SinkError>): Feed => {
  let off = false;
  return (use) =>
    Effect.suspend(() => (off ? Effect.void : use(sink))).pipe(
      Effect.catch((error) => {
        off = true;
        return sink.essential
          ? Effect.asVoid(Deferred.fail(broken, error))
          : Effect.logWarning(`${sink.name} is switched off: ${error.message}`);
      }),
    );
};

const all = (feeds: readonly Feed[], use: (sink: Sink) => Effect.Effect<void, SinkError>): Effect.Effect<void> =>
  Effect.forEach(feeds, (feed) => feed(use), { discard: true });

const each = <A>(pull: Pull<A>, use: (message: A) => Effect.Effect<void>): Effect.Effect<void> =>
  pull.pipe(
    Effect.flatMap(use),
    Effect.forever({ disableYield: true }),
    Effect.catchIf(Cause.isDone, () => Effect.void),
  );

const outcomeOf = (exit: Exit.Exit<unknown, unknown>, stopped: string | null): Outcome => {
  if (Exit.isSuccess(exit)) return stopped === null ? { _tag: "Completed" } : { _tag: "Stopped", reason: stopped };
  if (Cause.hasInterruptsOnly(exit.cause)) return { _tag: "Stopped", reason: stopped ?? "interrupted" };
  const error = Cause.squash(exit.cause);
  return { _tag: "Failed", message: error instanceof Error ? error.message : String(error) };
};
