/** The configuration of a run of seconds over real threads: a random model of two layers on FrozenLake 4x4. */
import { join } from "node:path";
import type { RunConfig } from "../../src/config/RunConfig.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { presets } from "../env/contract/presets.ts";
import { configWith, trainingOnly } from "./config.ts";

export const tinyArchitecture = {
  hidden_size: 32,
  intermediate_size: 64,
  layers: 2,
  heads: 2,
  kv_heads: 1,
  max_positions: 256,
};

const tinyRun: Tree = merge(trainingOnly, {
  run: { name: "tiny", seed: 3 },
  trainer: { total_training_steps: 3, max_checkpoints: 10 },
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
  metrics: { sample_ms: 1_000_000 },
  sft: {
    architecture: tinyArchitecture,
    sources: [{ tag: "FrozenLake", episodes: 24 }],
    steps: 3,
    batch_size: 8,
  },
  custom_envs: { FrozenLake: { ...presets.FrozenLake } },
});

/** The run with its files below `dir`; `writeModel` of test/pipelines/tiny.ts writes its starting weights. */
export const tinyConfig = (dir: string, changes: Tree = {}): RunConfig => {
  const files = {
    run: { dir: join(dir, "runs") },
    model: { path: join(dir, "model") },
    sft: { output: join(dir, "sft") },
  };
  return configWith(merge(merge(tinyRun, files), changes));
};
