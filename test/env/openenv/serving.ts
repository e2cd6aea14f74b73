/** Servers of ours for tests: an ephemeral port on loopback, closed with the scope or by hand. */
import { Effect, Exit, Result, Schema, Scope } from "effect";
import {
  type BoundAsyncEnvironment,
  type BoundEnvironment,
  bindAsync,
} from "../../../src/env/contract/BoundEnvironment.ts";
import { Remote } from "../../../src/env/openenv/Remote.ts";
import { RemoteConfig } from "../../../src/env/openenv/RemoteConfig.ts";
import { RemoteError } from "../../../src/env/openenv/RemoteError.ts";
import { type ServerOptions, type Serving, serveEnvironment } from "../../../src/env/openenv/Server.ts";
import type { Guard } from "../../../src/support/http/Guard.ts";

export interface Running extends Serving {
  readonly ws: string;
  readonly close: () => Promise<void>;
}

export const about = { name: "Test", description: "a test", version: "1" };

/** Lets everybody on this machine ask who is no page. */
export const local: Guard = { isPublic: false, hosts: [], origins: [], token: null };

export const running = async (environment: BoundEnvironment, limits: Partial<ServerOptions> = {}): Promise<Running> => {
  const scope = Scope.makeUnsafe();
  const options: ServerOptions = {
    environment,
    about,
    host: "127.0.0.1",
    port: 0,
    maxSessions: 32,
    idleMs: 10_000,
    maxSteps: 1_000,
    maxMessageBytes: 100_000,
    maxConnections: 256,
    maxBufferedBytes: 10_000_000,
    requestMs: 10_000,
    guard: local,
    ...limits,
  };
  const serving = await Effect.runPromise(Scope.provide(serveEnvironment(options), scope));
  return {
    ...serving,
    ws: `${serving.url.replace("http", "ws")}/ws`,
    close: () => Effect.runPromise(Scope.close(scope, Exit.void)),
  };
};

/** Limits under which a failing test is quick. */
const quick = { connect_timeout_ms: 2_000, request_timeout_ms: 2_000, retries: 0, retry_wait_ms: 1 };

export const remote = (url: string, keys: Readonly<Record<string, unknown>> = {}): BoundAsyncEnvironment => {
  const decode = Schema.decodeUnknownResult(RemoteConfig, { onExcessProperty: "error" });
  return bindAsync(Remote, Result.getOrThrow(decode({ url, ...quick, ...keys })));
};

/** Somebody waits, and goes on waiting. */
export const patient = (): AbortSignal => new AbortController().signal;

/** The error a promise rejects with; an error of another kind, or none, fails the test. */
export const rejection = async (promise: Promise<unknown>): Promise<RemoteError> => {
  const outcome = await promise.then(
    (value) => new Error(`resolved with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof RemoteError) return outcome;
  throw outcome;
};
