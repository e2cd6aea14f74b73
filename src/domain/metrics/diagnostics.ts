/**
 * Metrics of the diagnostics: whether thoughts still tell of their prompts, and where the policy's gradient comes from. Names are RAGEN's where
 * it has them. Z is a thought, X the prompt before it, N the number of prompts (columns) every thought is scored behind.
 */
import { family, metric } from "./Metric.ts";

/** Measured in every step. */
const thinking = {
  validRate: metric("collapse/valid_thinking_rate", "share", "share", "Turns with a thought that is not empty."),
  firstTotal: metric("collapse/first_turn_num_total", "counter", "turns", "First turns of the window's episodes."),
  firstValid: metric(
    "collapse/first_turn_num_valid",
    "counter",
    "turns",
    "First turns of the window's episodes with a thought that is not empty.",
  ),
  firstRate: metric(
    "collapse/first_turn_valid_rate",
    "share",
    "share",
    "First turns with a thought that is not empty.",
  ),
};

const prefix = "collapse_{drawing}_sample";
const perDrawing = <const Name extends string>(
  name: Name,
  kind: Parameters<typeof metric>[1],
  unit: Parameters<typeof metric>[2],
  meaning: string,
) => family<`${typeof prefix}/${Name}`>(`${prefix}/${name}`, kind, unit, meaning);

/** `drawing` is `first_turn` or `trajectory`. Names with seq are of whole thoughts, in nats; the others are per token of a thought. */
const information = {
  information: perDrawing(
    "mi_estimate",
    "mean",
    "nats",
    "Estimate of I(X;Z) per token: matched minus marginal log-probability.",
  ),
  informationSeq: perDrawing("mi_seq_estimate", "mean", "nats", "Estimate of I(X;Z) over whole thoughts."),
  bound: perDrawing("mi_upper_bound", "mean", "nats", "ln N, which mi_seq_estimate cannot exceed."),
  matched: perDrawing(
    "matched_log_prob_mean",
    "mean",
    "nats",
    "Log-probability per token of thoughts behind their own prompts.",
  ),
  marginal: perDrawing(
    "marginal_log_prob_mean",
    "mean",
    "nats",
    "Log of the mean probability over the prompts, per token.",
  ),
  conditional: perDrawing("conditional_entropy_est", "mean", "nats", "Estimate of H(Z|X) per token."),
  conditionalSeq: perDrawing("conditional_entropy_seq_est", "mean", "nats", "Estimate of H(Z|X) over whole thoughts."),
  reasoning: perDrawing("reasoning_entropy_est", "mean", "nats", "Estimate of H(Z) per token."),
  reasoningSeq: perDrawing("reasoning_entropy_seq_est", "mean", "nats", "Estimate of H(Z) over whole thoughts."),
  marginalStd: perDrawing("marginal_std", "mean", "nats", "Deviation of the marginal over the thoughts, per token."),
  marginalStdSeq: perDrawing(
    "marginal_std_seq",
    "mean",
    "nats",
    "Deviation of the marginal over the thoughts, of whole thoughts.",
  ),
  zscore: perDrawing("mi_zscore", "mean", "1", "mi_estimate over marginal_std."),
  zscoreSeq: perDrawing("mi_zscore_seq", "mean", "1", "mi_seq_estimate over marginal_std_seq."),
  marginalStdEma: perDrawing("marginal_std_ema", "level", "nats", "Running mean of marginal_std, over the run."),
  marginalStdEmaSeq: perDrawing("marginal_std_ema_seq", "level", "nats", "Running mean of marginal_std_seq."),
  zscoreEma: perDrawing("mi_zscore_ema", "level", "1", "Running mean of mi_zscore."),
  zscoreEmaSeq: perDrawing("mi_zscore_ema_seq", "level", "1", "Running mean of mi_zscore_seq."),
};

const accuracy = "Thoughts whose own prompt gives them the highest probability of the N.";

/** Retrieval among the k most likely prompts; `k` is 2, 4, 8. */
const retrieval = {
  accuracy: perDrawing("retrieval_accuracy", "share", "share", accuracy),
  chance: perDrawing(
    "retrieval_chance_level",
    "share",
    "share",
    "Retrieval accuracy of thoughts that tell nothing of the prompt.",
  ),
  above: perDrawing("retrieval_above_chance", "mean", "share", "Retrieval accuracy minus its chance level."),
  accuracyAt: perDrawing(
    "retrieval_accuracy@{k}",
    "share",
    "share",
    "Thoughts whose own prompt gives them one of the k highest probabilities of the N.",
  ),
  chanceAt: perDrawing(
    "retrieval_chance_level@{k}",
    "share",
    "share",
    "Retrieval accuracy among the k highest, of thoughts that tell nothing of the prompt.",
  ),
  aboveAt: perDrawing(
    "retrieval_above_chance@{k}",
    "mean",
    "share",
    "Retrieval accuracy among the k highest minus its chance level.",
  ),
};

/** The size, step and weights of a measurement. */
const measurement = {
  regime: perDrawing(
    "regime",
    "level",
    "1",
    "0 healthy, 1 template collapse, 2 compressed, 3 entropy collapse (reading a run, below).",
  ),
  samples: perDrawing(
    "num_samples",
    "counter",
    "turns",
    "Thoughts that were scored, cut down to diagnostics.max_share.",
  ),
  columns: perDrawing("num_columns", "counter", "1", "Prompts that each was scored behind (N)."),
  step: perDrawing("step", "level", "1", "Step of the window that was measured; this one or one before."),
  version: perDrawing("version", "level", "versions", "Version of the weights that scored."),
  cut: perDrawing("cut", "counter", "turns", "Thoughts left out because the learner was needed for an update."),
};

/** RAGEN calls the drawing from all turns `multi_turn` here. */
const seconds = {
  firstSeconds: metric("timing_s/collapse_first_turn_step", "mean", "s", "The learner's time for first turns."),
  firstSecondsTotal: metric(
    "timing_s/collapse_first_turn_total",
    "total",
    "s",
    "The learner's time for first turns, since the run began.",
  ),
  multiSeconds: metric(
    "timing_s/collapse_multi_turn_step",
    "mean",
    "s",
    "The learner's time for turns of trajectories.",
  ),
  multiSecondsTotal: metric(
    "timing_s/collapse_multi_turn_total",
    "total",
    "s",
    "The learner's time for turns of trajectories, since the run began.",
  ),
  secondsTotal: metric(
    "timing_s/collapse_total",
    "total",
    "s",
    "The learner's time for collapse measurements, since the run began.",
  ),
};

export const collapse = { ...thinking, ...information, ...retrieval, ...measurement, ...seconds } as const;

const ofBuckets = <const Root extends string>(root: Root) => ({
  norm: family(
    `${root}/{bucket}/{part}`,
    "mean",
    "1",
    "Norm of the gradient of a part of the loss (task, entropy, kl; with its coefficient) over a bucket of groups.",
  ),
  perSample: family(
    `${root}/{bucket}/per_sample/{part}`,
    "mean",
    "1",
    "Norm of the gradient of a part of the loss, over the sequences of the bucket.",
  ),
  perToken: family(
    `${root}/{bucket}/per_token/{part}`,
    "mean",
    "1",
    "Norm of the gradient of a part of the loss, over the trained tokens of the bucket.",
  ),
  loss: family(`${root}/{bucket}/loss/{part}`, "mean", "1", "Loss of the bucket by part: policy, entropy, kl, total."),
  samples: family(`${root}/{bucket}/sample_count`, "counter", "1", "Sequences of the bucket."),
  percent: family(`${root}/{bucket}/sample_pct`, "mean", "1", "Per cent of all sequences that are in the bucket."),
  stdMean: family(
    `${root}/{bucket}/reward_std_mean`,
    "mean",
    "reward",
    "Mean reward deviation of the bucket's groups.",
  ),
  stdMin: family(
    `${root}/{bucket}/reward_std_min`,
    "min",
    "reward",
    "Smallest reward deviation of the bucket's groups.",
  ),
  stdMax: family(
    `${root}/{bucket}/reward_std_max`,
    "max",
    "reward",
    "Largest reward deviation of the bucket's groups.",
  ),
  groups: family(`${root}/{bucket}/group_rv_count`, "counter", "groups", "Groups of the bucket."),
});

/** `bucket`: `bucket_1`, the groups whose rewards vary least, `bucket_2`, … and `all`. */
export const gradients = ofBuckets("grad_norm");
/** The same of all groups of the window, as they were before the filter. */
export const gradientsPrefilter = ofBuckets("grad_norm_prefilter");

export const analysis = {
  ofAll: family("actor/grad_norm/{part}", "mean", "1", "The same as grad_norm/all/{part}."),
  lossOfAll: family("actor/loss/{part}", "mean", "1", "The same as grad_norm/all/loss/{part}."),
  only: metric("trainer/gradient_analysis_only", "counter", "1", "1 in a step of a run that trains nothing."),
  usesWindow: metric(
    "grad_analysis/uses_training_batch",
    "level",
    "1",
    "1 where the window's own batch was analysed, 0 where groups were played for it.",
  ),
  groups: metric("grad_analysis/source_env_groups", "counter", "groups", "Groups that were played for the analysis."),
  groupSize: metric(
    "grad_analysis/source_group_size",
    "level",
    "episodes",
    "Episodes in each group that was played for the analysis.",
  ),
  episodes: metric(
    "grad_analysis/source_batch_size",
    "counter",
    "episodes",
    "Usable episodes of the groups that were played for the analysis.",
  ),
  empty: metric(
    "grad_analysis/empty_after_filter",
    "counter",
    "1",
    "1 where the filter kept none of the groups that were played for the analysis.",
  ),
  keptRatio: metric(
    "grad_analysis/filter_kept_ratio",
    "share",
    "share",
    "As rollout/filter_kept_ratio, of the groups that were played for the analysis.",
  ),
  rewardStd: metric(
    "grad_analysis/in_group_reward_std",
    "mean",
    "reward",
    "As rollout/in_group_reward_std, of the groups that were played for the analysis.",
  ),
  exited: metric("trainer/exited_after_gradient_analysis", "counter", "1", "1 in the step that the run ends after."),
  actorSkipped: metric(
    "actor/skipped_for_gradient_analysis_only",
    "counter",
    "1",
    "1 where the policy is not trained because of trainer.gradient_analysis_only.",
  ),
  criticSkipped: metric(
    "critic/skipped_for_gradient_analysis_only",
    "counter",
    "1",
    "1 where the critic is not trained because of trainer.gradient_analysis_only.",
  ),
} as const;
