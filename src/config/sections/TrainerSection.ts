/** How long a run goes on, what it validates, saves and records on the way, and when it ends early. */
import { Schema } from "effect";
import { episodesOrNone, field, fraction, section, steps, stepsOrNone, whole } from "../field.ts";

export const KeepBestSection = Schema.Struct({
  metric: field(
    Schema.String,
    "",
    "What a checkpoint is judged by, by its name in docs/metrics.md, e.g. val-env/success; empty keeps no best one.",
  ),
  mode: field(Schema.Literals(["max", "min"]), "max", "Whether the largest value is the best, or the smallest."),
  patience: field(stepsOrNone, 0, "Stop once so many values in a row were no better than the best; 0 never."),
});

export const TrainerSection = Schema.Struct({
  total_training_steps: field(steps, 200, "Windows consumed before the run ends."),
  test_freq: field(stepsOrNone, 10, "Validate every so many steps; 0 only at the end."),
  val_before_train: field(Schema.Boolean, true, "Validate the starting weights."),
  val_at_end: field(Schema.Boolean, true, "Validate the final weights."),
  save_freq: field(stepsOrNone, 100, "Checkpoint every so many steps; 0 only at the end."),
  max_checkpoints: field(whole(1, 100_000), 2, "Newest checkpoints kept; a damaged one falls back to the one before."),
  empty_stop_steps: field(stepsOrNone, 5, "Stop after so many consecutive empty selections; 0 never."),
  variance_stop_steps: field(
    stepsOrNone,
    0,
    "Stop when rewards within groups deviate less than a share of their mean over the first so many steps, for as many steps in a row; 0 never (RAGEN: 10).",
  ),
  variance_stop_share: field(fraction, 0.1, "That share."),
  success_stop_validations: field(
    stepsOrNone,
    0,
    "Stop after so many consecutive validations in which a preset succeeds in less than a share of its episodes; 0 never (RAGEN: 5).",
  ),
  success_stop_share: field(fraction, 0.01, "That share."),
  keep_best: section(KeepBestSection, "The best checkpoint, kept beside the newest as checkpoints/best."),
  max_skipped_updates: field(
    stepsOrNone,
    5,
    "Fail after so many consecutive updates that train nothing, as numbers are not finite; 0 never.",
  ),
  trajectory_freq: field(
    stepsOrNone,
    4,
    "Write episodes to trajectories.jsonl at the first step and every so many after it; 0 never.",
  ),
  trajectory_groups: field(whole(0, 65_536), 1, "Groups of such a step that are written, whole."),
  gradient_analysis_mode: field(
    Schema.Boolean,
    false,
    "Decompose the policy's gradient by the reward variance of groups (docs/metrics.md).",
  ),
  gradient_analysis_every: field(steps, 50, "At the first step, and so many steps after it."),
  gradient_analysis_num_buckets: field(whole(1, 64), 6, "Buckets of groups, of the quantile mode."),
  gradient_analysis_bucket_mode: field(
    Schema.Literals(["quantile", "fixed_rv"]),
    "quantile",
    "Buckets of equally many groups, or with the edges 0, 1, 2, 3, 4, 5 of the groups' reward deviation.",
  ),
  gradient_analysis_env_groups: field(
    whole(0, 65_536),
    0,
    "Groups that are played for the analysis alone; 0 as many as a window has. With that and group_size as in training, it takes training's batch.",
  ),
  gradient_analysis_group_size: field(whole(0, 4_096), 0, "Episodes of each such group; 0 as many as in training."),
  gradient_analysis_only: field(Schema.Boolean, false, "Train nothing; the run only analyses."),
  gradient_analysis_log_prefilter: field(Schema.Boolean, false, "Analyse the groups that the filter leaves out, too."),
  exit_after_gradient_analysis: field(Schema.Boolean, false, "End the run after the first step that was analysed."),
  validation_episodes: field(episodesOrNone, 16, "Episodes of a validation that are written to trajectories.jsonl."),
});
