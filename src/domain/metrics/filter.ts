/**
 * Metrics of the filter: what it saw in the usable groups of a window, and in those it kept. Names are RAGEN's. A statistic is taken within
 * each group first and averaged over groups, so that every one of them is a mean. Without a usable group, or a kept one, there are none.
 */
import { metric } from "./Metric.ts";

const usable = {
  std: metric(
    "rollout/in_group_std",
    "mean",
    "1",
    "Standard deviation of reward, entropy or length in a group, whichever filter.metric is of.",
  ),
  max: metric(
    "rollout/in_group_max",
    "mean",
    "1",
    "Largest reward, entropy or length in a group, whichever filter.metric is of.",
  ),
  mean: metric(
    "rollout/in_group_mean",
    "mean",
    "1",
    "Mean reward, entropy or length in a group, whichever filter.metric is of.",
  ),
  rewardStd: metric(
    "rollout/in_group_reward_std",
    "mean",
    "reward",
    "Standard deviation of the scores within a group.",
  ),
  paidStd: metric(
    "rollout/in_group_env_reward_std",
    "mean",
    "reward",
    "Standard deviation within a group of the environment's own rewards, before penalties and normalisation.",
  ),
  rewardMax: metric("rollout/in_group_reward_max", "mean", "reward", "Largest score of a group."),
  rewardMean: metric("rollout/in_group_reward_mean", "mean", "reward", "Mean score of a group."),
  rewardSum: metric("rollout/in_group_reward_sum", "mean", "reward", "Sum of the scores of a group."),
  entropyStd: metric(
    "rollout/in_group_entropy_std",
    "mean",
    "nats",
    "Standard deviation of the episodes' entropies within a group.",
  ),
  entropyMax: metric("rollout/in_group_entropy_max", "mean", "nats", "Largest entropy of an episode of a group."),
  entropyMean: metric(
    "rollout/in_group_entropy_mean",
    "mean",
    "nats",
    "Mean entropy per sampled token of a group's episodes.",
  ),
  lengthStd: metric(
    "rollout/in_group_length_std",
    "mean",
    "tokens",
    "Standard deviation of the sampled tokens of episodes within a group.",
  ),
  lengthMax: metric("rollout/in_group_length_max", "mean", "tokens", "Most sampled tokens of an episode of a group."),
  lengthMean: metric("rollout/in_group_length_mean", "mean", "tokens", "Mean sampled tokens of a group's episodes."),
};

const chosen = {
  chosenStd: metric(
    "rollout/chosen_in_group_std",
    "mean",
    "1",
    "Standard deviation of reward, entropy or length in a group, whichever filter.metric is of, over the kept groups.",
  ),
  chosenMax: metric(
    "rollout/chosen_in_group_max",
    "mean",
    "1",
    "Largest reward, entropy or length in a group, whichever filter.metric is of, over the kept groups.",
  ),
  chosenMean: metric(
    "rollout/chosen_in_group_mean",
    "mean",
    "1",
    "Mean reward, entropy or length in a group, whichever filter.metric is of, over the kept groups.",
  ),
  chosenRewardStd: metric(
    "rollout/chosen_in_group_reward_std",
    "mean",
    "reward",
    "Standard deviation of the scores within a group, over the kept groups.",
  ),
  chosenRewardMax: metric(
    "rollout/chosen_in_group_reward_max",
    "mean",
    "reward",
    "Largest score of a group, over the kept groups.",
  ),
  chosenRewardMean: metric(
    "rollout/chosen_in_group_reward_mean",
    "mean",
    "reward",
    "Mean score of a group, over the kept groups.",
  ),
  chosenRewardSum: metric(
    "rollout/chosen_in_group_reward_sum",
    "mean",
    "reward",
    "Sum of the scores of a group, over the kept groups.",
  ),
  chosenEntropyStd: metric(
    "rollout/chosen_in_group_entropy_std",
    "mean",
    "nats",
    "Standard deviation of the episodes' entropies within a group, over the kept groups.",
  ),
  chosenEntropyMax: metric(
    "rollout/chosen_in_group_entropy_max",
    "mean",
    "nats",
    "Largest entropy of an episode of a group, over the kept groups.",
  ),
  chosenEntropyMean: metric(
    "rollout/chosen_in_group_entropy_mean",
    "mean",
    "nats",
    "Mean entropy per sampled token of a group's episodes, over the kept groups.",
  ),
  chosenLengthStd: metric(
    "rollout/chosen_in_group_length_std",
    "mean",
    "tokens",
    "Standard deviation of the sampled tokens of episodes within a group, over the kept groups.",
  ),
  chosenLengthMax: metric(
    "rollout/chosen_in_group_length_max",
    "mean",
    "tokens",
    "Most sampled tokens of an episode of a group, over the kept groups.",
  ),
  chosenLengthMean: metric(
    "rollout/chosen_in_group_length_mean",
    "mean",
    "tokens",
    "Mean sampled tokens of a group's episodes, over the kept groups.",
  ),
};

const selection = {
  keptCount: metric("rollout/filter_kept_count", "counter", "groups", "Groups of the window that the filter kept."),
  keptRatio: metric(
    "rollout/filter_kept_ratio",
    "share",
    "share",
    "Kept groups over the usable groups of the window, those of refills included; under within_group, kept episodes over usable ones.",
  ),
  zeroCount: metric("rollout/filter_zero_count", "counter", "groups", "Usable groups whose filter score is zero."),
  empty: metric(
    "rollout/empty_after_filter",
    "counter",
    "windows",
    "1 where the filter kept no group, so that nothing is trained.",
  ),
  surplus: metric(
    "rollout/filter_surplus_count",
    "counter",
    "groups",
    "Groups that the rule selected beyond filter.refill.target, which leave the window too.",
  ),
  withinGroup: metric(
    "rollout/within_group_keep_k",
    "mean",
    "episodes",
    "Episodes kept of a group by the within_group strategy.",
  ),
};

/** Metrics of a window's groups, before and after the filter. */
export const filter = { ...usable, ...chosen, ...selection } as const;
