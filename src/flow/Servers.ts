/**
 * The servers that a run stands on, and the state each is in. What talks to one tells of it here, also before the run has begun; the run's
 * bus hears of all of it. Invariant: one entry a server, its newest state.
 */
import { Context, Effect, type Scope } from "effect";
import { type Metrics, mergeMetrics, metricsFrom } from "../domain/metrics/Metrics.ts";
import { servers as catalogue } from "../domain/metrics/run.ts";
import { type ReportServer, roles, type ServerChange, type ServerState, withServerChange } from "../domain/Server.ts";
import { Bus } from "./Bus.ts";
import { Listeners, type Subscribe } from "./Listeners.ts";

export interface ServerBoard {
  readonly report: ReportServer;
  readonly servers: () => readonly ServerChange[];
  readonly onChange: Subscribe<ServerChange>;
  /** Adds metrics of servers to the step records, until the scope closes. */
  readonly addMetrics: (read: () => Metrics) => Effect.Effect<void, never, Scope.Scope>;
  readonly metrics: () => Metrics;
}

/** Counts the servers of each role by their state; a role without servers has no metrics. */
const counts = (servers: readonly ServerChange[]): Metrics =>
  mergeMetrics(
    ...roles.map((role) => {
      const states = servers.filter((server) => server.role === role).map(({ state }) => state._tag);
      if (states.length === 0) return metricsFrom();
      const those = (tag: ServerState["_tag"]): number => states.filter((state) => state === tag).length;
      return metricsFrom(
        [catalogue.up.of({ role }), those("Up")],
        [catalogue.retrying.of({ role }), those("Retrying")],
        [catalogue.lost.of({ role }), those("Lost") + those("ShutOut")],
      );
    }),
  );

export const make = (): ServerBoard => {
  let servers: readonly ServerChange[] = [];
  const listeners = new Listeners<ServerChange>();
  const readers = new Set<() => Metrics>();
  return {
    report: (change) => {
      servers = withServerChange(servers, change);
      listeners.notify(change);
    },
    servers: () => servers,
    onChange: listeners.subscribe,
    addMetrics: (read) =>
      Effect.acquireRelease(
        Effect.sync(() => void readers.add(read)),
        () => Effect.sync(() => readers.delete(read)),
      ),
    metrics: () => mergeMetrics(counts(servers), ...[...readers].map((read) => read())),
  };
};

/** A board of its own that nobody sees, unless one is provided. */
export const Servers = Context.Reference<ServerBoard>("millrace/flow/Servers", { defaultValue: make });

/** Emits what is known, and from then on every change, for the life of the scope. */
export const attach: Effect.Effect<void, never, Bus | Scope.Scope> = Effect.gen(function* () {
  const bus = yield* Bus;
  const servers = yield* Servers;
  const emit = (change: ServerChange) => Effect.runSync(bus.emit({ _tag: "ServerChanged", ...change }));
  servers.servers().forEach(emit);
  yield* Effect.acquireRelease(
    Effect.sync(() => servers.onChange(emit)),
    (unsubscribe) => Effect.sync(unsubscribe),
  );
});
