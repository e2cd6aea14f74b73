/** A run of seconds with real threads: a random model of two layers, FrozenLake 4x4, and hooks on the threads the run starts. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { Effect, Result, type Scope } from "effect";
import * as pipeline from "../../pipelines/train.ts";
import { decode } from "../../src/config/decode.ts";
import { RunConfig } from "../../src/config/RunConfig.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { stream } from "../../src/domain/Random.ts";
import { writeCheckpoint } from "../../src/model/checkpoint/HuggingFaceFolder.ts";
import * as Model from "../../src/model/Model.ts";
import * as Stop from "../../src/support/process/Stop.ts";
import { presets } from "../env/contract/presets.ts";

export const architecture = {
  hidden_size: 32,
  intermediate_size: 64,
  layers: 2,
  heads: 2,
  kv_heads: 1,
  max_positions: 256,
};

const tree = (dir: string): Tree => ({
  run: { dir: join(dir, "runs"), name: "tiny", seed: 3 },
  model: { path: join(dir, "model") },
  trainer: {
    total_training_steps: 3,
    test_freq: 0,
    val_before_train: false,
    val_at_end: false,
    save_freq: 0,
    max_checkpoints: 10,
    empty_stop_steps: 0,
  },
  pipeline: { mode: "sync", step_inline: true, stop_deadline_ms: 0 },
  es_manager: {
    train: { env_groups: 2, group_size: 4, tags: ["FrozenLake"], n_groups: [2] },
    val: { env_groups: 4, group_size: 1, tags: ["FrozenLake"], n_groups: [4] },
  },
  rollout: { template: "compact", max_turn: 2, max_model_len: 200, response_length: 8 },
  generation: { slots: 8 },
  // Random text earns nothing but noise in its penalties: all of it is trained on, and the entropy bonus moves the weights.
  algorithm: { adv_estimator: "gae" },
  actor: { lr: 1e-2, entropy_coeff: 0.1, ppo_mini_batch_size: 4 },
  metrics: { console: "off", sample_ms: 1_000_000 },
  sft: {
    architecture,
    sources: [{ tag: "FrozenLake", episodes: 24 }],
    steps: 3,
    batch_size: 8,
    output: join(dir, "sft"),
  },
  custom_envs: { FrozenLake: { ...presets.FrozenLake } },
});

/** The run file of a tiny run below `dir`, `changes` laid over it. */
export const configOf = (dir: string, changes: Tree = {}): RunConfig =>
  Result.getOrThrow(decode(RunConfig, merge(tree(dir), changes)));

/** Writes the run's starting weights to `dir/model`. */
export const writeModel = Effect.fnUntraced(function* (dir: string) {
  const model = yield* Model.fresh(architecture, stream({ seed: 1, purpose: "initialisation", counters: [] }));
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

/** What Ctrl-C does: tells the listeners a run has added, and nobody else. */
export const interrupt = (before: readonly NodeJS.SignalsListener[]): void => {
  for (const listener of process.listeners("SIGINT")) if (!before.includes(listener)) listener("SIGINT");
};

/** Trains as the command line does, stopped by signals. */
export const train = (options: pipeline.TrainOptions) => Effect.provide(pipeline.train(options), Stop.layer);
