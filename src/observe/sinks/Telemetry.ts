/**
 * Connects a run to its sinks for the life of a scope. Invariant: when the scope closes, every sink is closed with the run's outcome, all at
 * once and each within its deadline.
 */
import { Deferred, Effect, type Scope } from "effect";
import { runOutcome } from "../../domain/RunOutcome.ts";
import type { Bus } from "../../flow/Bus.ts";
import type { RunInfo, Sink, SinkError } from "./Sink.ts";
import * as Feed from "./SinkFeed.ts";

export interface TelemetryOptions {
  readonly bus: typeof Bus.Service;
  readonly sinks: readonly Sink[];
  readonly run: RunInfo;
}

/**
 * Opens the sinks and feeds them until the scope closes. Fails when an essential sink cannot be opened. The result fails when one breaks
 * later, and never succeeds: the run is raced against it.
 */
export const attach = ({
  bus,
  run,
  sinks,
}: TelemetryOptions): Effect.Effect<Effect.Effect<never, SinkError>, SinkError, Scope.Scope> =>
  Effect.gen(function* () {
    const broken = Deferred.makeUnsafe<never, SinkError>();
    const feeds: Feed.SinkFeed[] = [];
    for (const sink of sinks) feeds.push(yield* Feed.start({ sink, run, bus, broken }));
    // Finalizers run last in, first out: the feeds' fibers are still there.
    yield* Effect.addFinalizer((exit) => {
      const outcome = runOutcome(exit, bus.state().reason);
      return Effect.forEach(feeds, (feed) => feed.close(outcome), { concurrency: "unbounded", discard: true });
    });
    if (Deferred.isDoneUnsafe(broken)) return yield* Deferred.await(broken);
    return Deferred.await(broken);
  });
