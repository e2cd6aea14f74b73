/** The section `trainer`: a run's length, validations, checkpoints, records and early stops. */
import { Schema } from "effect";
import { episodesOrNone, field, fraction, section, steps, stepsOrNone, whole } from "../field.ts";

export const KeepBestSection = Schema.Struct({
  metric: field(
    Schema.String,
    "",
    "Metric that picks the best checkpoint, by its name in docs/metrics.md, e.g. val-env/success; empty keeps none.",
  ),
  mode: field(Schema.Literals(["max", "min"]), "max", "max prefers the largest value of the metric, min the smallest."),
  patience: field(stepsOrNone, 0, "Stop after so many values of the metric in a row without a new best; 0 never."),
});

export const TrainerSection = Schema.Struct({
  total_training_steps: field(steps, 200, "Windows that the run consumes (its steps)."),
  test_freq: field(stepsOrNone, 10, "Validate every so many steps; 0 only at the end."),
  val_before_train: field(
    Schema.Boolean,
    true,
    "Validate the starting weights, while the first window is rolled out and trained on.",
  ),
  val_at_end: field(Schema.Boolean, true, "Validate after the last update."),
  save_freq: field(stepsOrNone, 100, "Write a checkpoint every so many steps; 0 only at the end."),
  max_checkpoints: field(
    whole(1, 100_000),
    2,
    "Number of newest checkpoints to keep; if one is damaged, the one before is used.",
  ),
  max_restarts: field(
    whole(0, 1_000_000),
    3,
    "Times that the run is opened again, from its newest checkpoint, after a generator, learner or lane thread died; 0 never.",
  ),
  log_replies: field(
    Schema.Boolean,
    true,
    "Log replies between two checkpoints in the run's folder, so that a run that was killed goes on without generating them again.",
  ),
  replay: field(
    Schema.Boolean,
    false,
    "Record what `millrace replay` needs: the replies of all windows, which weights filled their caches, and a checksum of each update.",
  ),
  empty_stop_steps: field(
    stepsOrNone,
    5,
    "Stop after so many consecutive windows of which the filter keeps no group; 0 never.",
  ),
  variance_stop_steps: field(
    stepsOrNone,
    0,
    "Stop once the rewards' deviation within groups stays for so many steps below variance_stop_share of its mean over as many first steps; 0 never (RAGEN: 10).",
  ),
  variance_stop_share: field(
    fraction,
    0.1,
    "Share of the first steps' mean deviation below which variance_stop_steps stops the run.",
  ),
  success_stop_validations: field(
    stepsOrNone,
    0,
    "Stop after so many consecutive validations in which a preset's success is below success_stop_share; 0 never (RAGEN: 5).",
  ),
  success_stop_share: field(
    fraction,
    0.01,
    "Share of a preset's episodes below which success_stop_validations counts a validation as failed.",
  ),
  keep_best: section(KeepBestSection, "The best checkpoint, which is kept as checkpoints/best beside the newest ones."),
  max_skipped_updates: field(
    stepsOrNone,
    5,
    "Fail after so many consecutive updates that are skipped for non-finite numbers; 0 never.",
  ),
  trajectory_freq: field(
    stepsOrNone,
    4,
    "Write episodes to trajectories.jsonl at the first step and every so many steps; 0 never.",
  ),
  trajectory_groups: field(
    whole(0, 65_536),
    1,
    "Groups that a step writes to trajectories.jsonl, with all their episodes.",
  ),
  gradient_analysis_mode: field(
    Schema.Boolean,
    false,
    "Analyse the policy's gradient by the reward variance of groups (docs/metrics.md).",
  ),
  gradient_analysis_every: field(steps, 50, "Analyse gradients at the first step and every so many steps."),
  gradient_analysis_num_buckets: field(
    whole(1, 64),
    6,
    "Number of group buckets in the quantile mode of the gradient analysis.",
  ),
  gradient_analysis_bucket_mode: field(
    Schema.Literals(["quantile", "fixed_rv"]),
    "quantile",
    "Buckets of the gradient analysis: equally many groups each (quantile), or reward deviations with the edges 0 to 5 (fixed_rv).",
  ),
  gradient_analysis_env_groups: field(
    whole(0, 65_536),
    0,
    "Groups that are played only for the gradient analysis; 0 as many as a window. If groups and their size equal training's, it uses the training batch.",
  ),
  gradient_analysis_group_size: field(
    whole(0, 4_096),
    0,
    "Episodes of each group of the gradient analysis; 0 as many as in training.",
  ),
  gradient_analysis_only: field(Schema.Boolean, false, "Only analyse gradients, and train nothing."),
  gradient_analysis_log_prefilter: field(
    Schema.Boolean,
    false,
    "Include the groups that the filter drops in the gradient analysis.",
  ),
  exit_after_gradient_analysis: field(Schema.Boolean, false, "End the run after its first gradient analysis."),
  validation_episodes: field(episodesOrNone, 16, "Number of episodes that a validation writes to trajectories.jsonl."),
});
