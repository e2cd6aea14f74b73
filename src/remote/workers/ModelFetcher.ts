/**
 * Fetches model and weights from the learner into a worker's cache, reads them and hands them to the generators, in a thread of its own.
 * The base model of adapters stays in the cache from run to run; a version's folder is removed once it is read.
 */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { MessagePort } from "node:worker_threads";
import { Effect, type Scope } from "effect";
import type { Version } from "../../domain/Episode.ts";
import { BadInput, PolicyError } from "../../domain/Errors.ts";
import type { ModelConfig } from "../../model/checkpoint/ModelConfig.ts";
import { make as makeThread, type ThreadFailure } from "../../model/runtime/Thread.ts";
import { makeTemporaryFolder } from "../../support/process/temporaryFolder.ts";
import { FetchFailed } from "./files/fetchFolder.ts";
import type { FetchProtocol, FileSource } from "./files/protocol.ts";
import type { RunDescription } from "./Messages.ts";

export interface ModelFetcherOptions {
  readonly description: RunDescription;
  /** Cache folder on this machine, created if missing. */
  readonly cache: string;
  readonly token: string | null;
  /** File of the authorities that check the learner's certificate; null takes the system's. */
  readonly ca: string | null;
}

export interface ModelFetcher {
  /** Fetches the base model and returns its folder. */
  readonly fetchModel: Effect.Effect<string, FetchFailed | PolicyError>;
  /** Fetches a version and returns its folder, which the caller removes. */
  readonly fetchVersion: (version: Version) => Effect.Effect<string, FetchFailed | PolicyError>;
  readonly remove: (folder: string) => Effect.Effect<void>;
  /** Names the generators that receive adopted versions. */
  readonly start: (
    ports: readonly MessagePort[],
    config: ModelConfig,
  ) => Effect.Effect<void, PolicyError | FetchFailed>;
  /** Fetches a version and hands it to the generators. */
  readonly adopt: (version: Version) => Effect.Effect<void, PolicyError | FetchFailed>;
  readonly died: Effect.Effect<never, PolicyError>;
}

const reasons = ["unreachable", "refused", "gone", "damaged", "disk"] as const;

const errorOf = (failure: ThreadFailure): PolicyError | FetchFailed => {
  const reason = failure.reason === "call_failed" ? reasons.find((each) => each === failure.code) : undefined;
  const { cause, message } = failure;
  return reason === undefined
    ? new PolicyError({ reason: "session_failed", message: `the weights cannot be had: ${message}`, cause })
    : new FetchFailed({ reason, message });
};

/** Fails with BadInput if the cache cannot be written. */
export const make = Effect.fnUntraced(function* ({
  description: about,
  ca,
  cache,
  token,
}: ModelFetcherOptions): Effect.fn.Return<ModelFetcher, BadInput, Scope.Scope> {
  const versions = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        await mkdir(cache, { recursive: true });
        return makeTemporaryFolder("versions", cache);
      },
      catch: (cause) =>
        new BadInput({ message: `--cache: ${JSON.stringify(cache)} cannot be written: ${String(cause)}` }),
    }),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
  );
  const thread = yield* makeThread<FetchProtocol, PolicyError | FetchFailed>({
    url: new URL("./files/fetchThread.ts", import.meta.url),
    name: "weights",
    fail: errorOf,
  });
  const from = (path: string): FileSource => ({ url: `${about.files}/${path}`, token, ca });
  const folderOf = (version: Version, weightsOnly: boolean) =>
    thread.call("fetch", {
      from: from(`weights/v${version}`),
      into: join(versions, `v${version}`),
      byContents: false,
      weightsOnly,
    });
  const remove = (folder: string) => Effect.promise(() => rm(folder, { recursive: true, force: true }));
  return {
    fetchModel: thread.call("fetch", {
      from: from("model"),
      into: join(cache, "models"),
      byContents: true,
      weightsOnly: false,
    }),
    fetchVersion: (version) => folderOf(version, false),
    remove,
    start: (ports, config) => Effect.asVoid(thread.call("start", { ports, kind: about.kind, config }, ports)),
    adopt: (next) =>
      Effect.gen(function* () {
        const folder = yield* folderOf(next, true);
        yield* Effect.ensuring(thread.call("adopt", { version: next, folder }), remove(folder));
      }),
    // A dead thread is not a failed transfer.
    died: Effect.catchTag(thread.died, "FetchFailed", Effect.die),
  };
});
