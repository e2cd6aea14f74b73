/** Configurations of tests. They are decoded as a run file is: an unknown key or a wrong value throws what a user would read. */
import { Result, type Schema } from "effect";
import { decode } from "../../src/config/decode.ts";
import { RunConfig } from "../../src/config/RunConfig.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";

/** A function that makes configurations of a schema: its defaults, under `base`, under the changes of the call. */
export const configsOf =
  <A>(schema: Schema.Codec<A, unknown>, base: Tree = {}) =>
  (changes: Tree = {}): A =>
    Result.getOrThrow(decode(schema, merge(base, changes)));

/** The defaults of a run file, with changes. */
export const configWith = configsOf(RunConfig);

/** The sections that a learner takes. */
export const learnerSections = (changes: Tree = {}): Pick<RunConfig, "actor" | "algorithm" | "critic"> => {
  const { actor, algorithm, critic } = configWith(changes);
  return { actor, algorithm, critic };
};

/** A run that only trains: nothing is validated, saved or printed. */
export const trainingOnly: Tree = {
  trainer: { test_freq: 0, val_before_train: false, val_at_end: false, save_freq: 0, empty_stop_steps: 0 },
  metrics: { console: "off" },
};

/** A run of four windows over the fakes of test/engine/fakes.ts. */
export const reachConfig = configsOf(
  RunConfig,
  merge(trainingOnly, {
    trainer: { total_training_steps: 4, trajectory_freq: 0, validation_episodes: 0 },
    pipeline: { mode: "sync", stall_ms: 1_000_000_000, stop_deadline_ms: 1_000_000 },
    es_manager: {
      train: { env_groups: 2, group_size: 2, tags: ["Reach"], n_groups: [2], seed: 100 },
      val: { env_groups: 2, group_size: 1, tags: ["Reach"], n_groups: [2] },
    },
    generation: { slots: 8 },
    algorithm: { adv_estimator: "grpo" },
    metrics: { sample_ms: 1_000_000_000 },
  }),
);
