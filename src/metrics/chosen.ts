/**
 * The sinks beside the console that a run file asks for, and the tracer to provide around the run where it asks for traces. Invariant: without
 * one there is no tracer, so that a run which is not traced makes no spans.
 */
import { Effect, Redacted, type Scope, Tracer } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { version } from "../files/packageRoot.ts";
import { TracedGroups } from "../stage/spanned.ts";
import * as Otlp from "./otlp/Otlp.ts";
import * as OtlpSink from "./otlp/OtlpSink.ts";
import * as Prometheus from "./prometheus/Prometheus.ts";
import type { RunInfo, Sink } from "./Sink.ts";
import * as TensorBoard from "./tensorboard/TensorBoard.ts";
import * as Trace from "./trace/Trace.ts";
import * as Wandb from "./wandb/Wandb.ts";

export interface Chosen {
  readonly sinks: readonly Sink[];
  /** Null where nothing is traced. */
  readonly tracer: Tracer.Tracer | null;
  /** Share of the groups that it sees. */
  readonly tracedGroups: number;
}

export interface ChosenOptions {
  readonly metrics: Pick<RunConfig["metrics"], "sinks" | "wandb" | "otlp" | "prometheus" | "trace">;
  readonly run: Pick<RunInfo, "name" | "folder">;
  /** The process's variables; `WANDB_API_KEY` and `OTEL_EXPORTER_OTLP_HEADERS` are read, and shown nowhere. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Told where Prometheus's sink listens. */
  readonly onListening?: (url: string) => void;
}

const collectorOf = ({ metrics: { otlp }, run, variables }: ChosenOptions): Otlp.Collector => ({
  endpoint: otlp.endpoint,
  headers: Otlp.headersOf(variables.OTEL_EXPORTER_OTLP_HEADERS),
  resource: {
    serviceName: "millrace",
    serviceVersion: version,
    attributes: { "millrace.run.name": run.name, "millrace.run.folder": run.folder },
  },
});

const wandb = ({ metrics, variables }: ChosenOptions): Sink => {
  const key = variables.WANDB_API_KEY?.trim() ?? "";
  return Wandb.make({ config: metrics.wandb, apiKey: key === "" ? null : Redacted.make(key), version });
};

/** What the tracer still holds is sent when the scope closes. */
export const make = (options: ChosenOptions): Effect.Effect<Chosen, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { metrics, onListening } = options;
    const { otlp, prometheus } = metrics;
    const asked = new Set<string>(metrics.sinks);
    const collector = collectorOf(options);
    const trace = metrics.trace ? Trace.make() : null;
    const exported = asked.has("otlp") && otlp.traces ? yield* Otlp.tracer(collector) : null;
    return {
      sinks: [
        ...(asked.has("wandb") ? [wandb(options)] : []),
        ...(asked.has("tensorboard") ? [TensorBoard.make()] : []),
        ...(asked.has("otlp") && otlp.metrics ? [OtlpSink.make(collector)] : []),
        ...(asked.has("prometheus")
          ? [Prometheus.make({ ...prometheus, ...(onListening === undefined ? {} : { onListening }) })]
          : []),
        ...(trace === null ? [] : [trace.sink]),
      ],
      tracer: trace === null ? exported : trace.tracer(exported ?? Tracer.nativeTracer),
      tracedGroups: trace === null ? otlp.trace_groups : 1,
    };
  });

/** The effect under the tracer, if there is one. */
export const traced = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  { tracedGroups, tracer }: Pick<Chosen, "tracer" | "tracedGroups">,
): Effect.Effect<A, E, R> =>
  tracer === null
    ? effect
    : effect.pipe(Effect.provideService(Tracer.Tracer, tracer), Effect.provideService(TracedGroups, tracedGroups));
