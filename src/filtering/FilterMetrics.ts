/**
 * What the filter saw and kept. Statistics are taken within each group first and averaged over the groups that have them (`…_sum` too).
 * Invariant: what no group has is absent.
 */
import { sampledTokens } from "../domain/Episode.ts";
import type { ScoredGroup } from "../domain/Group.ts";
import { filter } from "../domain/metrics/filter.ts";
import type { Metric } from "../domain/metrics/Metric.ts";
import { type Metrics, measured } from "../domain/metrics/Metrics.ts";
import { maximum, mean, standardDeviation, sum } from "../domain/Statistics.ts";
import { entropyOf, lengths, rewards } from "./groupScore.ts";

interface Statistic {
  readonly of: (values: readonly number[]) => number;
  /** Fewest values that have it. */
  readonly from: number;
}

const std: Statistic = { of: standardDeviation, from: 2 };
const max: Statistic = { of: maximum, from: 1 };
const average: Statistic = { of: mean, from: 1 };
const total: Statistic = { of: sum, from: 1 };

type ValuesOf = (group: ScoredGroup) => readonly number[];

/** Entropies of the group's episodes that sampled anything. */
const entropies: ValuesOf = ({ episodes }) =>
  episodes.filter(({ episode }) => sampledTokens(episode) > 0).map(({ episode }) => entropyOf(episode));

/** Entry over the usable groups, entry over the kept ones, and what both are of. */
const table: readonly (readonly [Metric, Metric, ValuesOf, Statistic])[] = [
  [filter.std, filter.chosenStd, rewards, std],
  [filter.max, filter.chosenMax, rewards, max],
  [filter.mean, filter.chosenMean, rewards, average],
  [filter.rewardStd, filter.chosenRewardStd, rewards, std],
  [filter.rewardMax, filter.chosenRewardMax, rewards, max],
  [filter.rewardMean, filter.chosenRewardMean, rewards, average],
  [filter.rewardSum, filter.chosenRewardSum, rewards, total],
  [filter.entropyStd, filter.chosenEntropyStd, entropies, std],
  [filter.entropyMax, filter.chosenEntropyMax, entropies, max],
  [filter.entropyMean, filter.chosenEntropyMean, entropies, average],
  [filter.lengthStd, filter.chosenLengthStd, lengths, std],
  [filter.lengthMax, filter.chosenLengthMax, lengths, max],
  [filter.lengthMean, filter.chosenLengthMean, lengths, average],
];

/** Mean over the groups of a statistic within each; undefined where no group has it. */
const averaged = (groups: readonly ScoredGroup[], valuesOf: ValuesOf, { from, of }: Statistic): number | undefined => {
  const statistics = groups
    .map(valuesOf)
    .filter((values) => values.length >= from)
    .map(of);
  return statistics.length === 0 ? undefined : mean(statistics);
};

/**
 * @param groups usable groups of the window
 * @param kept those of them the filter kept
 * @param windowSize groups of the window, failed ones included
 * @param zeros groups whose score is zero
 */
export const filterMetrics = (
  groups: readonly ScoredGroup[],
  kept: readonly ScoredGroup[],
  windowSize: number,
  zeros: number,
): Metrics =>
  measured(
    ...table.map(([usable, , values, statistic]) => [usable, averaged(groups, values, statistic)] as const),
    ...table.map(([, chosen, values, statistic]) => [chosen, averaged(kept, values, statistic)] as const),
    [filter.keptCount, kept.length],
    [filter.keptRatio, windowSize === 0 ? undefined : kept.length / windowSize],
    [filter.zeroCount, zeros],
    [filter.empty, kept.length === 0 ? 1 : 0],
  );
