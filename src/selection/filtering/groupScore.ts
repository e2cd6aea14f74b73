/**
 * Scores of groups for the filter: how much there is to learn from a group, as a number. Pure. Every one counts an
 * episode once, whatever the number of its token sequences. Invariant: a score is a function of the
 * group's usable episodes only, whatever window it is in (scores of episodes were normalised before).
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import { type Episode, repliesOf, sampledTokens } from "../../domain/Episode.ts";
import type { ScoredGroup } from "../../domain/Group.ts";
import { mean, standardDeviation, sum } from "../../domain/Statistics.ts";

export type GroupMetric = RunConfig["filter"]["metric"];

/** Mean entropy per sampled token of an episode, nats; 0 of one without tokens. */
export const episodeEntropy = (episode: Episode): number => {
  const tokens = sampledTokens(episode);
  return tokens === 0 ? 0 : sum(repliesOf(episode).flatMap(({ sampled }) => [...sampled.entropies])) / tokens;
};

export const rewards = (group: ScoredGroup): readonly number[] => group.episodes.map(({ score }) => score);
export const entropies = (group: ScoredGroup): readonly number[] =>
  group.episodes.map(({ episode }) => episodeEntropy(episode));
export const lengths = (group: ScoredGroup): readonly number[] =>
  group.episodes.map(({ episode }) => sampledTokens(episode));

/** `reward_variance` and `entropy_variance` are unbiased standard deviations, as RAGEN computes them under these names. */
export const groupScore: Readonly<Record<GroupMetric, (group: ScoredGroup) => number>> = {
  reward_variance: (group) => standardDeviation(rewards(group)),
  reward: (group) => mean(rewards(group)),
  reward_sum: (group) => sum(rewards(group)),
  entropy: (group) => mean(entropies(group)),
  entropy_variance: (group) => standardDeviation(entropies(group)),
  length: (group) => mean(lengths(group)),
};
