/** A run of seconds with real threads: a random model of two layers, FrozenLake 4x4, and hooks on the threads the run starts. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { Effect, type Scope } from "effect";
import * as pipeline from "../../pipelines/train.ts";
import { stream } from "../../src/domain/Random.ts";
import { writeCheckpoint } from "../../src/model/checkpoint/HuggingFaceFolder.ts";
import * as Model from "../../src/model/Model.ts";
import * as Stop from "../../src/support/process/Stop.ts";
import { tinyArchitecture } from "../build/tinyConfig.ts";

/** Writes the run's starting weights to `dir/model`. */
export const writeModel = Effect.fnUntraced(function* (dir: string) {
  const model = yield* Model.randomModel(
    tinyArchitecture,
    stream({ seed: 1, purpose: "initialisation", counters: [] }),
  );
  yield* writeCheckpoint(join(dir, "model"), model.checkpoint);
});

/** Hash of the actor's or its adapter's, the critic's and the optimisers' numbers in a checkpoint. */
export const parameterHash = (checkpoint: string): Effect.Effect<string> =>
  Effect.promise(async () => {
    const hash = createHash("sha256");
    const files = (await readdir(checkpoint)).filter((name) => name.endsWith(".safetensors")).sort();
    if (files.length < 2) throw new Error(`${checkpoint} holds ${files.join(", ") || "no tensors"}`);
    for (const file of files) hash.update(await readFile(join(checkpoint, file)));
    return hash.digest("hex");
  });

/** While the scope lives: `heard` is told of the n-th message of each thread whose name starts with `name`. */
export const onThread = (
  name: string,
  heard: (worker: Worker, message: number) => void,
): Effect.Effect<void, never, Scope.Scope> => {
  const started = (worker: Worker): void => {
    let messages = 0;
    if (worker.threadName?.startsWith(name) === true) worker.on("message", () => heard(worker, ++messages));
  };
  return Effect.acquireRelease(
    Effect.sync(() => void process.on("worker", started)),
    () => Effect.sync(() => void process.off("worker", started)),
  );
};

/** Does what Ctrl-C does: calls the listeners that a run has added, and no others. */
export const interrupt = (before: readonly NodeJS.SignalsListener[]): void => {
  for (const listener of process.listeners("SIGINT")) if (!before.includes(listener)) listener("SIGINT");
};

/** Trains as the command line does, stopped by signals. */
export const train = (options: pipeline.TrainOptions) => Effect.provide(pipeline.train(options), Stop.layer);
