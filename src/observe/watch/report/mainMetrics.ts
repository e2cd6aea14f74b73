/** The metrics that a report draws, in its order: learning, the filter, staleness, cost. */

/** Shares of episodes that ended badly; a report draws them only if there are any. */
export const drawnWhereNonZero: readonly string[] = [
  "val-env/ended/failed",
  "train/ended/failed",
  "val-env/ended/context",
  "train/ended/context",
];

export const mainMetricNames: readonly string[] = [
  "val-env/success",
  "train/success",
  "val-env/charts/avg_episode_return",
  "train/charts/avg_episode_return",
  "rollout/in_group_reward_std",
  "rollout/filter_kept_ratio",
  "train/entropy",
  "train/parsed",
  "collapse_first_turn_sample/mi_estimate",
  "collapse_first_turn_sample/conditional_entropy_est",
  "collapse_trajectory_sample/mi_estimate",
  "collapse_trajectory_sample/conditional_entropy_est",
  "response_length/mean",
  "train/turns",
  ...drawnWhereNonZero,
  "actor/pg_loss",
  "actor/entropy",
  "actor/ppo_kl",
  "actor/grad_norm",
  "actor/pg_clipfrac",
  "critic/vf_explained_var",
  "mismatch/kl",
  "mismatch/ess",
  "staleness/mean",
  "staleness/max",
  "tokens/generated_per_second",
  "tokens/trained_per_second",
  "timing_s/step",
  "timing_s/update",
];

/** Success by tag, for a run that plays several. */
const ofTag = /^(?:val-env|train)\/[^/]+\/success$/;

/** The largest number of tags whose success is drawn. */
const mostTags = 8;

/** The `names` that are drawn. */
export const drawnMetrics = (names: readonly string[]): readonly string[] => {
  const available = new Set(names);
  const drawn = mainMetricNames.filter((name) => available.has(name));
  const tagged = names.filter((name) => ofTag.test(name));
  const tags = new Set(tagged.map((name) => name.split("/")[1]));
  if (tags.size < 2) return drawn;
  const shown = new Set([...tags].slice(0, mostTags));
  const at = drawn.findLastIndex((name) => name.endsWith("/success")) + 1;
  return [...drawn.slice(0, at), ...tagged.filter((name) => shown.has(name.split("/")[1])), ...drawn.slice(at)];
};
