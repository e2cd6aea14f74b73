/**
 * The sink for Prometheus: `/metrics` over HTTP with every metric of the newest step, the live gauges and the process. Nothing
 * waits for its readers. Invariant: a port that cannot be opened costs the sink and never the run.
 */
import { Effect, Exit, Scope } from "effect";
import { type Guard, isLoopback } from "../../../support/http/Guard.ts";
import type { ListenFailed } from "../../../support/http/listen.ts";
import { serve } from "../../../support/http/serve.ts";
import * as Registry from "../export/Registry.ts";
import { once, type Sink, SinkError } from "../Sink.ts";
import * as Exposition from "./Exposition.ts";

const name = "prometheus";
const PATH = "/metrics";

/**
 * These limits bound the cost of clients that send half a request, stop reading, or come in crowds. The run never waits for them.
 */
const limits = { connections: 64, requestMs: 5_000, keepAliveMs: 30_000 };

export interface PrometheusOptions {
  readonly host: string;
  /** The port; 0 takes any free one. */
  readonly port: number;
  /** Called with the sink's address. */
  readonly onListening?: (url: string) => void;
}

const listenFailure = ({ code, host, port }: ListenFailed): SinkError => {
  if (code === "EADDRINUSE") {
    const message = `port ${port} of ${host} is taken (metrics.prometheus.port=${port}); 0 takes any free one`;
    return new SinkError({ sink: name, message });
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    const message = `${host} is no address of this machine (metrics.prometheus.host=${host})`;
    return new SinkError({ sink: name, message });
  }
  const why = code === "EACCES" ? "is not allowed to this user" : code;
  return new SinkError({ sink: name, message: `port ${port} of ${host}: ${why} (metrics.prometheus.port=${port})` });
};

/**
 * On loopback, a foreign Host belongs to a page that points its own name here to read the answer. Beyond loopback the names of
 * this machine are unknown, and the network can read the answer anyway.
 */
const guardOf = (host: string): Guard | null =>
  isLoopback(host) ? { isPublic: false, hosts: [], origins: [], token: null } : null;

const textReply = (status: number, body: string) => ({
  status,
  headers: { "content-type": Exposition.contentType },
  body,
});

/** Serves one path with one text. */
const servePage = ({ host, port }: PrometheusOptions, text: () => string) =>
  serve({
    host,
    port,
    limits,
    guard: guardOf(host),
    routes: [{ method: "GET", path: PATH, handle: () => Effect.sync(() => textReply(200, text())) }],
    renderError: ({ message, status }) => textReply(status, `${message}\n`),
    notFoundMessage: () => `there is ${PATH}`,
  });

export const make = (options: PrometheusOptions): Sink => {
  const registry = Registry.make(Exposition.nameOf);
  const scope = Scope.makeUnsafe();
  /** The text of the newest state; null until a client asks. */
  let text: string | null = null;
  const updated = (update: () => void): Effect.Effect<void> =>
    Effect.sync(() => {
      update();
      text = null;
    });
  const newest = (): string => {
    text ??= Exposition.format(registry);
    return text;
  };
  return {
    name,
    essential: false,
    feeding: { retry: once },
    open: (run) =>
      Effect.gen(function* () {
        registry.run(run);
        const { url } = yield* Effect.mapError(Scope.provide(servePage(options, newest), scope), listenFailure);
        options.onListening?.(`${url}${PATH}`);
      }),
    step: (record) => updated(() => registry.step(record)),
    gauges: (sample) => updated(() => registry.sample(sample)),
    close: () => Scope.close(scope, Exit.void),
  };
};
