/**
 * Effect's OTLP exporters, which are unstable modules, over HTTP with JSON. Invariant: a collector that hangs or refuses costs
 * bounded memory, and at most `SHUTDOWN_MS` at the end. A request has a deadline, and few are in flight. After a failure,
 * Effect's exporter drops its data and rests for a minute.
 */
import { Effect, Layer, type Scope, type Tracer } from "effect";
import * as OtlpExporter from "effect/observability/OtlpExporter";
import * as OtlpMetrics from "effect/observability/OtlpMetrics";
import * as OtlpSerialization from "effect/observability/OtlpSerialization";
import * as OtlpTracer from "effect/observability/OtlpTracer";
import { clientLayer, type ResponseEffect } from "../../../support/http/fetchClient.ts";

const REQUEST_MS = 3_000;
const SHUTDOWN_MS = 2_000;
const EXPORT_MS = 5_000;
/** Requests in flight at once; one more fails, which makes the exporter rest. */
const REQUESTS = 4;
/** Spans of one request. */
const BATCH = 1_000;

export interface Collector {
  /** The collector, without `/v1/traces`. */
  readonly endpoint: string;
  /** Headers of each request, for instance a key. They are shown nowhere. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The exported resource: the service's name, and attributes that identify this run. */
  readonly resource: {
    readonly serviceName: string;
    readonly serviceVersion: string;
    readonly attributes: Readonly<Record<string, string>>;
  };
}

/** Reads answers to their end within the deadline, so that an endless body holds nothing. */
const boundRequests = (): ((answer: ResponseEffect) => ResponseEffect) => {
  let inFlight = 0;
  return (answer) =>
    Effect.suspend(() => {
      if (inFlight >= REQUESTS) return Effect.die(new Error("the collector is slower than the run"));
      inFlight++;
      return answer.pipe(
        Effect.tap((response) => Effect.ignore(response.arrayBuffer)),
        Effect.timeoutOrElse({
          duration: REQUEST_MS,
          orElse: () => Effect.die(new Error(`the collector did not answer within ${REQUEST_MS} ms`)),
        }),
        Effect.ensuring(Effect.sync(() => void inFlight--)),
      );
    });
};

const services = Layer.suspend(() =>
  Layer.mergeAll(clientLayer(boundRequests()), OtlpSerialization.layerJson, OtlpExporter.layerFlusher),
);

const options = ({ endpoint, headers, resource }: Collector, path: string) => ({
  url: `${endpoint.replace(/\/+$/, "")}${path}`,
  headers,
  resource,
  exportInterval: EXPORT_MS,
  shutdownTimeout: SHUTDOWN_MS,
});

const withServices = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Layer.build(services), (context) => Effect.provideContext(effect, context));

/** A tracer whose spans go to the collector while the scope lives; the rest is sent when it closes. */
export const tracer = (collector: Collector): Effect.Effect<Tracer.Tracer, never, Scope.Scope> =>
  withServices(OtlpTracer.make({ ...options(collector, "/v1/traces"), maxBatchSize: BATCH }));

/** Sends the metrics of the current registry every few seconds while the scope lives, and once more when it closes. */
export const metrics = (collector: Collector): Effect.Effect<void, never, Scope.Scope> =>
  withServices(OtlpMetrics.make(options(collector, "/v1/metrics")));

/** `OTEL_EXPORTER_OTLP_HEADERS` as OpenTelemetry defines it: `key=value` pairs between commas, percent-encoded. */
export const headersOf = (text: string | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (text ?? "").split(",").flatMap((pair) => {
      const at = pair.indexOf("=");
      return at > 0 ? [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]] : [];
    }),
  );

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
