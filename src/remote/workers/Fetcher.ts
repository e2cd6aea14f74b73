/**
 * A worker's copies of model and weights: fetched from the learner into a cache, read, and given to the generators, by a thread of its own. The
 * base model beside adapters is kept from run to run; a version's folder goes as soon as it is read.
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
import type { FetchProtocol, Source } from "./files/protocol.ts";
import type { About } from "./Messages.ts";

export interface FetcherOptions {
  readonly about: About;
  /** Folder of what is kept on this machine; made where it is missing. */
  readonly cache: string;
  readonly token: string | null;
  /** File of the authorities that the learner's certificate is checked by; null takes the system's. */
  readonly ca: string | null;
}

export interface Fetcher {
  /** The base model's folder. */
  readonly model: Effect.Effect<string, FetchFailed | PolicyError>;
  /** A version's folder; it is the caller's to remove. */
  readonly version: (version: Version) => Effect.Effect<string, FetchFailed | PolicyError>;
  readonly remove: (folder: string) => Effect.Effect<void>;
  /** Names the generators that versions are given to. */
  readonly start: (
    ports: readonly MessagePort[],
    config: ModelConfig,
  ) => Effect.Effect<void, PolicyError | FetchFailed>;
  /** Fetches a version and gives it to the generators. */
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

/** For the life of the scope. Fails with BadInput where the cache cannot be written. */
export const make = Effect.fnUntraced(function* ({
  about,
  ca,
  cache,
  token,
}: FetcherOptions): Effect.fn.Return<Fetcher, BadInput, Scope.Scope> {
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
  const from = (path: string): Source => ({ url: `${about.files}/${path}`, token, ca });
  const folderOf = (version: Version, weightsOnly: boolean) =>
    thread.call("fetch", {
      from: from(`weights/v${version}`),
      into: join(versions, `v${version}`),
      byContents: false,
      weightsOnly,
    });
  const remove = (folder: string) => Effect.promise(() => rm(folder, { recursive: true, force: true }));
  return {
    model: thread.call("fetch", {
      from: from("model"),
      into: join(cache, "models"),
      byContents: true,
      weightsOnly: false,
    }),
    version: (version) => folderOf(version, false),
    remove,
    start: (ports, config) => Effect.asVoid(thread.call("start", { ports, kind: about.kind, config }, ports)),
    adopt: (next) =>
      Effect.gen(function* () {
        const folder = yield* folderOf(next, true);
        yield* Effect.ensuring(thread.call("adopt", { version: next, folder }), remove(folder));
      }),
    // A dead thread is no failed transfer.
    died: Effect.catchTag(thread.died, "FetchFailed", Effect.die),
  };
});
