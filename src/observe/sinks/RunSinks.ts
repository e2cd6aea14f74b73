/**
 * The sinks of a run file beside the console, and the tracer for the run if it traces. Invariant: without traces there is no
 * tracer, so that the run makes no spans.
 */
import { Effect, Redacted, type Scope, Tracer } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import { TracedGroups } from "../../flow/spanned.ts";
import { version } from "../../support/files/packageRoot.ts";
import type { RunInfo, Sink } from "./Sink.ts";

export interface RunSinks {
  readonly sinks: readonly Sink[];
  /** Null if the run is not traced. */
  readonly tracer: Tracer.Tracer | null;
  /** Share of the groups that are traced. */
  readonly tracedGroups: number;
}

export interface RunSinksOptions {
  readonly metrics: Pick<RunConfig["metrics"], "sinks" | "wandb" | "otlp" | "prometheus" | "trace">;
  readonly run: Pick<RunInfo, "name" | "folder">;
  /** The process's variables; `WANDB_API_KEY` and `OTEL_EXPORTER_OTLP_HEADERS` are read, and shown nowhere. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Called with the address of Prometheus's sink. */
  readonly onListening?: (url: string) => void;
}

type LoadedSinks = Pick<RunSinks, "sinks" | "tracer">;

const nothing: LoadedSinks = { sinks: [], tracer: null };

/** The sinks of the run file are loaded here, so that a run without them starts sooner. */
const loadModule = <A>(load: () => Promise<A>): Effect.Effect<A> => Effect.promise(load);

const wandb = Effect.fnUntraced(function* ({ metrics, variables }: RunSinksOptions) {
  const { make } = yield* loadModule(() => import("./wandb/Wandb.ts"));
  const key = variables.WANDB_API_KEY?.trim() ?? "";
  return make({ config: metrics.wandb, apiKey: key === "" ? null : Redacted.make(key), version });
});

/** The tracer sends its remaining spans when the scope closes. */
const opentelemetry = Effect.fnUntraced(function* ({ metrics: { otlp }, run, variables }: RunSinksOptions) {
  const Otlp = yield* loadModule(() => import("./otlp/Otlp.ts"));
  const OtlpSink = yield* loadModule(() => import("./otlp/OtlpSink.ts"));
  const collector = {
    endpoint: otlp.endpoint,
    headers: Otlp.headersOf(variables.OTEL_EXPORTER_OTLP_HEADERS),
    resource: {
      serviceName: "millrace",
      serviceVersion: version,
      attributes: { "millrace.run.name": run.name, "millrace.run.folder": run.folder },
    },
  };
  const both: LoadedSinks = {
    sinks: otlp.metrics ? [OtlpSink.make(collector)] : [],
    tracer: otlp.traces ? yield* Otlp.tracer(collector) : null,
  };
  return both;
});

const prometheus = Effect.fnUntraced(function* ({ metrics, onListening }: RunSinksOptions) {
  const { make } = yield* loadModule(() => import("./prometheus/Prometheus.ts"));
  return make({ ...metrics.prometheus, ...(onListening === undefined ? {} : { onListening }) });
});

/** The trace as a file; its spans are those of `exported`, if there are any. */
const traceFile = Effect.fnUntraced(function* (exported: Tracer.Tracer | null) {
  const { make } = yield* loadModule(() => import("./trace/Trace.ts"));
  const trace = make();
  const both: LoadedSinks = { sinks: [trace.sink], tracer: trace.tracer(exported ?? Tracer.nativeTracer) };
  return both;
});

/** The sinks live as long as the scope. */
export const make = (options: RunSinksOptions): Effect.Effect<RunSinks, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { metrics } = options;
    const names = new Set<string>(metrics.sinks);
    const exported = names.has("otlp") ? yield* opentelemetry(options) : nothing;
    const traced = metrics.trace ? yield* traceFile(exported.tracer) : { sinks: [], tracer: exported.tracer };
    return {
      sinks: [
        ...(names.has("wandb") ? [yield* wandb(options)] : []),
        ...(names.has("tensorboard") ? [(yield* loadModule(() => import("./tensorboard/TensorBoard.ts"))).make()] : []),
        ...exported.sinks,
        ...(names.has("prometheus") ? [yield* prometheus(options)] : []),
        ...traced.sinks,
      ],
      tracer: traced.tracer,
      tracedGroups: metrics.trace ? 1 : metrics.otlp.trace_groups,
    };
  });

/** The effect under the tracer, if there is one. */
export const withTracer = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  { tracedGroups, tracer }: Pick<RunSinks, "tracer" | "tracedGroups">,
): Effect.Effect<A, E, R> =>
  tracer === null
    ? effect
    : effect.pipe(Effect.provideService(Tracer.Tracer, tracer), Effect.provideService(TracedGroups, tracedGroups));
