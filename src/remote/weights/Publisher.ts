/**
 * Publishes the learner's weights as folders, one for each version. To the learner it is one more generator, with a port for weights.
 * Readers take the newest version and may retain it while they use it. Invariants: a retained folder is not removed; versions only grow,
 * and the newest one is always published.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { Effect, type Scope } from "effect";
import type { Version } from "../../domain/Episode.ts";
import { PolicyError } from "../../domain/Errors.ts";
import type { Model } from "../../model/Model.ts";
import { baseOf } from "../../model/runtime/baseFeeds.ts";
import { make as makeThread } from "../../model/runtime/Thread.ts";
import type { Probe } from "./Prober.ts";
import type { PublisherProtocol } from "./protocol.ts";
import { type ModelLayout, versionFolder } from "./VersionFolder.ts";
import { VersionsOnDisk } from "./VersionsOnDisk.ts";

/** A version of the weights on disk, with a manifest. */
export interface PublishedVersion {
  readonly version: Version;
  /** `full`: a whole model in Hugging Face's form. `adapter`: an adapter in PEFT's form. */
  readonly kind: "full" | "adapter";
  readonly folder: string;
  /** The probe's scores under this version, as `Prober` returns them; null without a probe. */
  readonly scores: Float32Array | null;
}

export interface PublisherOptions {
  /** Folder of the versions, created if missing. */
  readonly directory: string;
  /** The starting weights, and the other files of a model's folder. */
  readonly model: Model;
  readonly version: Version;
  readonly layout: ModelLayout;
  /** Number of newest versions that stay on disk, at least 1. */
  readonly newest: number;
  /** Text that every version is scored on. */
  readonly probe?: Probe;
}

export interface Publisher {
  /** The learner's port: WeightsMessage in, AdoptedMessage out. It can be transferred once. */
  readonly port: MessagePort;
  /** The newest version on disk. */
  readonly current: () => PublishedVersion;
  /** Suspends until a version newer than `than` is on disk, and returns the newest. */
  readonly awaitNewer: (than: Version) => Effect.Effect<PublishedVersion, PolicyError>;
  /** Retains the folder of a version for the scope. False if it is gone. */
  readonly retain: (version: Version) => Effect.Effect<boolean, never, Scope.Scope>;
  /** Fails once versions can no longer be written. */
  readonly died: Effect.Effect<never, PolicyError>;
}

const writeFailure = (why: string, reason: PolicyError["reason"] = "session_failed", cause?: unknown): PolicyError =>
  new PolicyError({ reason, message: `the weights cannot be written for the servers: ${why}`, cause });

/** Writes the first version, then every one that the learner sends. Fails with PolicyError if the first cannot be written. */
export const make = Effect.fnUntraced(function* (
  options: PublisherOptions,
): Effect.fn.Return<Publisher, PolicyError, Scope.Scope> {
  const { directory, layout, model, newest, probe = null, version } = options;
  const { adapter, format: _, parameters, ...files } = model.checkpoint;
  const scope = yield* Effect.scope;
  const channel = new MessageChannel();
  yield* Effect.addFinalizer(() => Effect.sync(() => channel.port2.close()));
  const scores = new Map<Version, Float32Array | null>();
  const versions = new VersionsOnDisk(newest, (removed) => {
    scores.delete(removed);
    Effect.runSync(Effect.forkIn(Effect.ignore(thread.call("remove", removed)), scope));
  });
  const thread = yield* makeThread<PublisherProtocol, PolicyError>({
    url: new URL("./worker.ts", import.meta.url),
    name: "weights",
    fail: ({ cause, message, reason }) => writeFailure(message, reason === "thread_died" ? reason : undefined, cause),
    onEvent: (event) => {
      if (event._tag === "failed") return versions.breakWith(writeFailure(event.message));
      scores.set(event.version, event.scores);
      versions.add(event.version);
    },
    onDeath: (error) => versions.breakWith(error),
  });
  const flat = Float32Array.from((adapter?.parameters ?? parameters).flat);
  const base = probe === null ? undefined : baseOf(model.checkpoint.config, parameters);
  const request = { directory, files: { ...files, base: adapter?.base ?? "" }, layout, version, flat, probe, base };
  yield* thread.call("start", { ...request, weights: channel.port1 }, [channel.port1, flat.buffer]);
  const kind = adapter === undefined ? "full" : "adapter";
  const published = (version: Version): PublishedVersion => ({
    version,
    kind,
    folder: versionFolder(directory, version),
    scores: scores.get(version) ?? null,
  });
  return {
    port: channel.port2,
    current: () => published(versions.newest),
    awaitNewer: (than) => Effect.map(versions.awaitNewer(than), published),
    retain: (version) => versions.retain(version),
    died: versions.died,
  };
});
