/**
 * Metrics of the filter: what it saw in the usable groups of a window, and in those it kept. Names are RAGEN's. A statistic is taken within
 * each group first and averaged over groups, so that every one of them is a mean. Without a usable group, or a kept one, there are none.
 */
import { metric } from "./Metric.ts";

const usable = {
  std: metric("rollout/in_group_std", "mean", "reward", "Standard deviation of the scores within a group."),
  max: metric("rollout/in_group_max", "mean", "reward", "Largest score of a group."),
  mean: metric("rollout/in_group_mean", "mean", "reward", "Mean score of a group."),
  rewardStd: metric("rollout/in_group_reward_std", "mean", "reward", "The same as rollout/in_group_std."),
  rewardMax: metric("rollout/in_group_reward_max", "mean", "reward", "The same as rollout/in_group_max."),
  rewardMean: metric("rollout/in_group_reward_mean", "mean", "reward", "The same as rollout/in_group_mean."),
  rewardSum: metric("rollout/in_group_reward_sum", "mean", "reward", "Sum of the scores of a group."),
  entropyStd: metric(
    "rollout/in_group_entropy_std",
    "mean",
    "nats",
    "Deviation of the episodes' entropies within a group.",
  ),
  entropyMax: metric("rollout/in_group_entropy_max", "mean", "nats", "Largest entropy of an episode of a group."),
  entropyMean: metric(
    "rollout/in_group_entropy_mean",
    "mean",
    "nats",
    "Mean entropy per sampled token of a group's episodes.",
  ),
  lengthStd: metric("rollout/in_group_length_std", "mean", "tokens", "Deviation of the sampled tokens within a group."),
  lengthMax: metric("rollout/in_group_length_max", "mean", "tokens", "Most sampled tokens of an episode of a group."),
  lengthMean: metric("rollout/in_group_length_mean", "mean", "tokens", "Mean sampled tokens of a group's episodes."),
};

const chosen = {
  chosenStd: metric("rollout/chosen_in_group_std", "mean", "reward", "As rollout/in_group_std, of kept groups."),
  chosenMax: metric("rollout/chosen_in_group_max", "mean", "reward", "As rollout/in_group_max, of kept groups."),
  chosenMean: metric("rollout/chosen_in_group_mean", "mean", "reward", "As rollout/in_group_mean, of kept groups."),
  chosenRewardStd: metric(
    "rollout/chosen_in_group_reward_std",
    "mean",
    "reward",
    "The same as rollout/chosen_in_group_std.",
  ),
  chosenRewardMax: metric(
    "rollout/chosen_in_group_reward_max",
    "mean",
    "reward",
    "The same as rollout/chosen_in_group_max.",
  ),
  chosenRewardMean: metric(
    "rollout/chosen_in_group_reward_mean",
    "mean",
    "reward",
    "The same as rollout/chosen_in_group_mean.",
  ),
  chosenRewardSum: metric(
    "rollout/chosen_in_group_reward_sum",
    "mean",
    "reward",
    "As rollout/in_group_reward_sum, of kept groups.",
  ),
  chosenEntropyStd: metric(
    "rollout/chosen_in_group_entropy_std",
    "mean",
    "nats",
    "As rollout/in_group_entropy_std, of kept groups.",
  ),
  chosenEntropyMax: metric(
    "rollout/chosen_in_group_entropy_max",
    "mean",
    "nats",
    "As rollout/in_group_entropy_max, of kept groups.",
  ),
  chosenEntropyMean: metric(
    "rollout/chosen_in_group_entropy_mean",
    "mean",
    "nats",
    "As rollout/in_group_entropy_mean, of kept groups.",
  ),
  chosenLengthStd: metric(
    "rollout/chosen_in_group_length_std",
    "mean",
    "tokens",
    "As rollout/in_group_length_std, of kept groups.",
  ),
  chosenLengthMax: metric(
    "rollout/chosen_in_group_length_max",
    "mean",
    "tokens",
    "As rollout/in_group_length_max, of kept groups.",
  ),
  chosenLengthMean: metric(
    "rollout/chosen_in_group_length_mean",
    "mean",
    "tokens",
    "As rollout/in_group_length_mean, of kept groups.",
  ),
};

const selection = {
  keptCount: metric("rollout/filter_kept_count", "counter", "groups", "Groups of the window that the filter kept."),
  keptRatio: metric(
    "rollout/filter_kept_ratio",
    "share",
    "share",
    "Kept groups over all groups of the window, failed ones included.",
  ),
  zeroCount: metric("rollout/filter_zero_count", "counter", "groups", "Usable groups whose filter score is zero."),
  empty: metric(
    "rollout/empty_after_filter",
    "counter",
    "windows",
    "1 where the filter kept no group, so that nothing is trained.",
  ),
};

export const filter = { ...usable, ...chosen, ...selection } as const;
