/**
 * Publishes the learner's weights as folders, one a version: to the learner it is one more generator, whose port it is given. Readers take the
 * newest version and may keep one for as long as they use it. Invariants: a folder that a reader has kept is not removed; versions only grow,
 * and the newest one always comes.
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
import { Shelf } from "./Shelf.ts";
import { folderOf, type Layout } from "./VersionFolder.ts";

/** A version of the weights on disk, with a manifest beside its files. */
export interface Published {
  readonly version: Version;
  /** The whole model as a Hugging Face folder, or an adapter as a PEFT folder. */
  readonly kind: "full" | "adapter";
  readonly folder: string;
  /** What it makes of the probe, as `Prober` gives it; null without one. */
  readonly scores: Float32Array | null;
}

export interface PublisherOptions {
  /** Folder that the versions lie in; made where it is missing. */
  readonly directory: string;
  /** The weights to begin with, and what a folder holds beside them. */
  readonly model: Model;
  readonly version: Version;
  readonly layout: Layout;
  /** How many of the newest versions stay, at least 1. */
  readonly newest: number;
  /** What every version is asked about. */
  readonly probe?: Probe;
}

export interface Publisher {
  /** For the learner: WeightsMessage in, AdoptedMessage out. It can be transferred once. */
  readonly port: MessagePort;
  /** The newest version that is on disk. */
  readonly current: () => Published;
  /** Suspends until a version newer than `than` is on disk, and gives the newest. */
  readonly newer: (than: Version) => Effect.Effect<Published, PolicyError>;
  /** Keeps the folder of a version that is on disk for the scope. False where it is gone. */
  readonly keep: (version: Version) => Effect.Effect<boolean, never, Scope.Scope>;
  /** Suspends until versions can no longer be written, and fails. */
  readonly died: Effect.Effect<never, PolicyError>;
}

const cannotWrite = (why: string, reason: PolicyError["reason"] = "session_failed", cause?: unknown): PolicyError =>
  new PolicyError({ reason, message: `the weights cannot be written for the servers: ${why}`, cause });

/** Writes the first version and then every one that the learner sends. Fails with PolicyError where the first cannot be written. */
export const make = Effect.fnUntraced(function* (
  options: PublisherOptions,
): Effect.fn.Return<Publisher, PolicyError, Scope.Scope> {
  const { directory, layout, model, newest, probe = null, version } = options;
  const { adapter, format: _, parameters, ...files } = model.checkpoint;
  const scope = yield* Effect.scope;
  const channel = new MessageChannel();
  yield* Effect.addFinalizer(() => Effect.sync(() => channel.port2.close()));
  const scores = new Map<Version, Float32Array | null>();
  const shelf = new Shelf(newest, (gone) => {
    scores.delete(gone);
    Effect.runSync(Effect.forkIn(Effect.ignore(thread.call("remove", gone)), scope));
  });
  const thread = yield* makeThread<PublisherProtocol, PolicyError>({
    url: new URL("./worker.ts", import.meta.url),
    name: "weights",
    fail: ({ cause, message, reason }) => cannotWrite(message, reason === "thread_died" ? reason : undefined, cause),
    onEvent: (event) => {
      if (event._tag === "failed") return shelf.breakWith(cannotWrite(event.message));
      scores.set(event.version, event.scores);
      shelf.add(event.version);
    },
    onDeath: (error) => shelf.breakWith(error),
  });
  const flat = Float32Array.from((adapter?.parameters ?? parameters).flat);
  const beside = probe === null ? undefined : baseOf(model.checkpoint.config, parameters);
  const request = { directory, files: { ...files, base: adapter?.base ?? "" }, layout, version, flat, probe, beside };
  yield* thread.call("start", { ...request, weights: channel.port1 }, [channel.port1, flat.buffer]);
  const kind = adapter === undefined ? "full" : "adapter";
  const published = (version: Version): Published => ({
    version,
    kind,
    folder: folderOf(directory, version),
    scores: scores.get(version) ?? null,
  });
  return {
    port: channel.port2,
    current: () => published(shelf.newest),
    newer: (than) => Effect.map(shelf.newer(than), published),
    keep: (version) => shelf.keep(version),
    died: shelf.died,
  };
});
