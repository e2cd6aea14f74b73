/**
 * A connection to a NATS server for the life of a scope. Once it stands it is made again whenever it breaks, without an end; what it is doing
 * is told as the state of a server. Invariant: credentials come from the caller and are in no message and no name.
 */
import { connect as dial, type NatsConnection, type TlsOptions } from "@nats-io/transport-node";
import { Clock, Effect, Latch, type Scope } from "effect";
import type { TellServer } from "../../../domain/Server.ts";
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
  readonly tell: TellServer;
}

export interface Connected {
  readonly connection: NatsConnection;
  /** Suspends until the connection has been made again. */
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

/** Why a first connection is not made, and what to do. */
const explain = (url: string, cause: unknown): string => {
  const why = cause instanceof Error ? cause.message : String(cause);
  if (/authorization/i.test(why)) {
    return `${url}: the server does not know these credentials; set MILLRACE_NATS_USER and MILLRACE_NATS_PASSWORD, or MILLRACE_NATS_TOKEN`;
  }
  if (/certificate|tls|ssl/i.test(why)) return `${url}: no secure connection: ${why}`;
  return `${url}: no NATS server answers (${why}); start one with JetStream: nats-server -js -sd FOLDER`;
};

/** Tells what becomes of the connection until it is closed. */
const watch = async (
  connection: NatsConnection,
  { tell, url }: ConnectOptions,
  now: () => number,
  made: () => void,
) => {
  let since = 0;
  let attempt = 0;
  const retrying = (why: string): void => {
    const nextAt = now() + WAIT_MS;
    tell({ role: "broker", name: url, state: { _tag: "Retrying", since, attempt, nextAt, why } });
  };
  for await (const status of connection.status()) {
    if (status.type === "disconnect") {
      since = now();
      attempt = 0;
      retrying("the connection broke");
    } else if (status.type === "reconnecting") {
      attempt++;
      retrying("no server answers");
    } else if (status.type === "error") {
      // The server refuses something, a right that is missing above all.
      if (since === 0) since = now();
      retrying(status.error.message);
    } else if (status.type === "reconnect") {
      since = 0;
      tell({ role: "broker", name: url, state: { _tag: "Up" } });
      made();
    } else if (status.type === "close") {
      tell({ role: "broker", name: url, state: { _tag: "Lost", since: now(), why: "the connection is closed" } });
    }
  }
};

/** Fails where there is no server yet, or it refuses. */
export const connect = Effect.fnUntraced(function* (
  options: ConnectOptions,
): Effect.fn.Return<Connected, BrokerError, Scope.Scope> {
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
          // A stack for every request costs as much as the request.
          noAsyncTraces: true,
          maxReconnectAttempts: -1,
          reconnectTimeWait: WAIT_MS,
          pingInterval: PING_MS,
          // Rights may be changed while a run goes on; the server says so each time.
          ignoreAuthErrorAbort: true,
        }),
      catch: (cause) => new BrokerError({ message: explain(url, cause), cause }),
    }),
    (connection) => Effect.promise(() => connection.close().catch(() => undefined)),
  );
  tell({ role: "broker", name: url, state: { _tag: "Up" } });
  const again = Latch.makeUnsafe(false);
  const made = (): void => {
    again.openUnsafe();
    again.closeUnsafe();
  };
  void watch(connection, options, () => clock.currentTimeMillisUnsafe(), made).catch(() => undefined);
  return { connection, reconnected: again.await };
});
