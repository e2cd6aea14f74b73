/**
 * The sink for OpenTelemetry's metrics: the newest step, the live gauges and the process, sent every few seconds by Effect's
 * exporter. Invariant: only the last call waits for the collector, and it has a deadline.
 */
import { Effect, Exit, Scope } from "effect";
import * as Registry from "../export/Registry.ts";
import type { Series } from "../export/Series.ts";
import type { Sink } from "../Sink.ts";
import * as Otlp from "./Otlp.ts";

/** `stage/{stage}/busy` is `millrace.stage.busy`; the unit is a field of its own. */
export const nameOf = ({ path }: Series): string => ["millrace", ...path].join(".");

export const make = (collector: Otlp.Collector): Sink => {
  const registry = Registry.make(nameOf);
  let scope: Scope.Closeable | null = null;
  return {
    name: "otlp",
    essential: false,
    open: (run) =>
      Effect.gen(function* () {
        registry.run(run);
        scope = yield* Scope.make();
        yield* Otlp.metrics(collector).pipe(Effect.provideContext(registry.context), Scope.provide(scope));
      }),
    step: (record) => Effect.sync(() => registry.step(record)),
    gauges: (sample) => Effect.sync(() => registry.sample(sample)),
    close: () => Effect.suspend(() => (scope === null ? Effect.void : Scope.close(scope, Exit.void))),
  };
};
