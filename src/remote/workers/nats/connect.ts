/**
 * A connection to a NATS server for the life of a scope. After the first success it reconnects without an end, and reports its state as a
 * server's. Invariant: credentials come from the caller and appear in no message and no name.
 */
import { connect as dial, type NatsConnection, type TlsOptions } from "@nats-io/transport-node";
import { Clock, Effect, Latch, type Scope } from "effect";
import type { ReportServer } from "../../../domain/Server.ts";
import { BrokerError } from "../Broker.ts";

export interface Credentials {
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
}

export interface ConnectOptions {
  /** `nats://host:port` or `tls://host:port`. */
  readonly url: string;
  /** Shown in the server's list of connections. */
  readonly name: string;
  readonly credentials: Credentials;
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };
  readonly inbox?: string;
  readonly tell: ReportServer;
}

export interface LiveConnection {
  readonly connection: NatsConnection;
  /** Suspends until the next reconnection. */
  readonly reconnected: Effect.Effect<void>;
}

const WAIT_MS = 250;
const PING_MS = 3_000;

const tlsOf = (url: string, { ca, cert, key }: ConnectOptions["tls"]): TlsOptions | null => {
  if (!url.startsWith("tls:") && ca === "") return null;
  return {
    ...(ca === "" ? {} : { caFile: ca }),
    ...(cert === "" ? {} : { certFile: cert, keyFile: key }),
  };
};

/** Says why a first connection failed, and what to do. */
const explainFailure = (url: string, cause: unknown): string => {
  const why = cause instanceof Error ? cause.message : String(cause);
  if (/authorization/i.test(why)) {
    return `${url}: the server does not know these credentials; set MILLRACE_NATS_USER and MILLRACE_NATS_PASSWORD, or MILLRACE_NATS_TOKEN`;
  }
  if (/certificate|tls|ssl/i.test(why)) return `${url}: no secure connection: ${why}`;
  return `${url}: no NATS server answers (${why}); start one with JetStream: nats-server -js -sd FOLDER`;
};

/** Reports the connection's state until it is closed. */
const watch = async (
  connection: NatsConnection,
  { tell, url }: ConnectOptions,
  now: () => number,
  onReconnect: () => void,
) => {
  let since = 0;
  let attempt = 0;
  const tellRetrying = (why: string): void => {
    const nextAt = now() + WAIT_MS;
    tell({ role: "broker", name: url, state: { _tag: "Retrying", since, attempt, nextAt, why } });
  };
  for await (const status of connection.status()) {
    if (status.type === "disconnect") {
      since = now();
      attempt = 0;
      tellRetrying("the connection broke");
    } else if (status.type === "reconnecting") {
      attempt++;
      tellRetrying("no server answers");
    } else if (status.type === "error") {
      // The server refuses something, usually for a missing permission.
      if (since === 0) since = now();
      tellRetrying(status.error.message);
    } else if (status.type === "reconnect") {
      since = 0;
      tell({ role: "broker", name: url, state: { _tag: "Up" } });
      onReconnect();
    } else if (status.type === "close") {
      tell({ role: "broker", name: url, state: { _tag: "Lost", since: now(), why: "the connection is closed" } });
    }
  }
};

/** Connects. Fails if no server answers, or it refuses. */
export const connect = Effect.fnUntraced(function* (
  options: ConnectOptions,
): Effect.fn.Return<LiveConnection, BrokerError, Scope.Scope> {
  const { credentials, inbox, name, tell, tls, url } = options;
  const clock = yield* Clock.Clock;
  const secure = tlsOf(url, tls);
  const { password, token, user } = credentials;
  const connection = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () =>
        dial({
          servers: url.replace(/^\w+:\/\//, ""),
          name,
          ...(user === undefined ? {} : { user, pass: password ?? "" }),
          ...(token === undefined ? {} : { token }),
          ...(secure === null ? {} : { tls: secure }),
          ...(inbox === undefined ? {} : { inboxPrefix: inbox }),
          // A stack trace for every request would cost as much as the request.
          noAsyncTraces: true,
          maxReconnectAttempts: -1,
          reconnectTimeWait: WAIT_MS,
          pingInterval: PING_MS,
          // Permissions may change while a run goes on, so a refusal must not close the connection.
          ignoreAuthErrorAbort: true,
        }),
      catch: (cause) => new BrokerError({ message: explainFailure(url, cause), cause }),
    }),
    (connection) => Effect.promise(() => connection.close().catch(() => undefined)),
  );
  tell({ role: "broker", name: url, state: { _tag: "Up" } });
  const reconnected = Latch.makeUnsafe(false);
  const onReconnect = (): void => {
    reconnected.openUnsafe();
    reconnected.closeUnsafe();
  };
  void watch(connection, options, () => clock.currentTimeMillisUnsafe(), onReconnect).catch(() => undefined);
  return { connection, reconnected: reconnected.await };
});
