/**
 * The sink for Prometheus: `/metrics` over HTTP with every metric of the newest step, the live gauges and the process. Nothing waits for who
 * reads it. Invariant: a port that cannot be had costs the sink and never the run.
 */
import type { Server } from "node:http";
import { Effect } from "effect";
import * as Registry from "../export/Registry.ts";
import { once, type Sink, SinkError } from "../Sink.ts";
import * as Exposition from "./Exposition.ts";
import * as HttpServer from "./Server.ts";

const name = "prometheus";
const PATH = "/metrics";

export interface PrometheusOptions extends HttpServer.Address {
  /** Told where it listens. */
  readonly onListening?: (url: string) => void;
}

const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined;

const refused = ({ host, port }: HttpServer.Address, cause: unknown): SinkError => {
  const code = codeOf(cause);
  if (code === "EADDRINUSE") {
    const message = `port ${port} of ${host} is taken (metrics.prometheus.port=${port}); 0 takes any free one`;
    return new SinkError({ sink: name, message });
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    const message = `${host} is no address of this machine (metrics.prometheus.host=${host})`;
    return new SinkError({ sink: name, message });
  }
  const why =
    code === "EACCES" ? "is not allowed to this user" : cause instanceof Error ? cause.message : String(cause);
  return new SinkError({ sink: name, message: `port ${port} of ${host}: ${why} (metrics.prometheus.port=${port})` });
};

const urlOf = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}${PATH}`;

export const make = ({ host, onListening, port }: PrometheusOptions): Sink => {
  const registry = Registry.make(Exposition.nameOf);
  let server: Server | null = null;
  /** Of the newest state; null until someone asks. */
  let text: string | null = null;
  const updated = (update: () => void): Effect.Effect<void> =>
    Effect.sync(() => {
      update();
      text = null;
    });
  const page: HttpServer.Page = {
    path: PATH,
    contentType: Exposition.contentType,
    text: () => {
      text ??= Exposition.format(registry);
      return text;
    },
  };
  return {
    name,
    essential: false,
    feeding: { retry: once },
    open: (run) =>
      Effect.gen(function* () {
        registry.run(run);
        const listening = yield* Effect.tryPromise({
          try: () => HttpServer.listen({ host, port }, page),
          catch: (cause) => refused({ host, port }, cause),
        });
        server = listening;
        onListening?.(urlOf(host, HttpServer.portOf(listening)));
      }),
    step: (record) => updated(() => registry.step(record)),
    gauges: (sample) => updated(() => registry.sample(sample)),
    close: () =>
      Effect.promise(async () => {
        if (server !== null) await HttpServer.close(server);
        server = null;
      }),
  };
};
