/**
 * Metrics of the filter's input and output. A statistic is taken within each group first, then averaged over the groups that have it
 * (`…_sum` too). Invariant: a statistic that no group has is absent.
 */
import { rewardOf, sampledTokens } from "../../domain/Episode.ts";
import type { ScoredGroup } from "../../domain/Group.ts";
import { filter } from "../../domain/metrics/filter.ts";
import type { Metric } from "../../domain/metrics/Metric.ts";
import { type Metrics, metricsFrom } from "../../domain/metrics/Metrics.ts";
import { maximum, mean, standardDeviation, sum } from "../../domain/Statistics.ts";
import { episodeEntropy, type GroupMetric, lengths, rewards } from "./groupScore.ts";

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

/** Entropies of the group's episodes that sampled anything; the score of the filter takes the others as 0. */
const sampledEntropies: ValuesOf = ({ episodes }) =>
  episodes.filter(({ episode }) => sampledTokens(episode) > 0).map(({ episode }) => episodeEntropy(episode));

/** Entry over the usable groups, entry over the kept ones, and what both are of. */
type Row = readonly [usable: Metric, chosen: Metric, of: ValuesOf, statistic: Statistic];

/** The values of the filter's own metric. */
const filteredBy = (metric: GroupMetric): ValuesOf => {
  switch (metric) {
    case "reward_variance":
    case "reward":
    case "reward_sum":
      return rewards;
    case "entropy":
    case "entropy_variance":
      return sampledEntropies;
    case "length":
      return lengths;
  }
};

/** Rows of the filter's own metric, whichever it is. */
const ownRows = (metric: GroupMetric): readonly Row[] => {
  const values = filteredBy(metric);
  return [
    [filter.std, filter.chosenStd, values, std],
    [filter.max, filter.chosenMax, values, max],
    [filter.mean, filter.chosenMean, values, average],
  ];
};

const namedRows: readonly Row[] = [
  [filter.rewardStd, filter.chosenRewardStd, rewards, std],
  [filter.rewardMax, filter.chosenRewardMax, rewards, max],
  [filter.rewardMean, filter.chosenRewardMean, rewards, average],
  [filter.rewardSum, filter.chosenRewardSum, rewards, total],
  [filter.entropyStd, filter.chosenEntropyStd, sampledEntropies, std],
  [filter.entropyMax, filter.chosenEntropyMax, sampledEntropies, max],
  [filter.entropyMean, filter.chosenEntropyMean, sampledEntropies, average],
  [filter.lengthStd, filter.chosenLengthStd, lengths, std],
  [filter.lengthMax, filter.chosenLengthMax, lengths, max],
  [filter.lengthMean, filter.chosenLengthMean, lengths, average],
];

/** The environment's own rewards, by episode. */
const paid: ValuesOf = ({ episodes }) => episodes.map(({ episode }) => rewardOf(episode));

/** Mean over the groups of a statistic within each; undefined where no group has it. */
const averaged = (groups: readonly ScoredGroup[], valuesOf: ValuesOf, { from, of }: Statistic): number | undefined => {
  const statistics = groups
    .map(valuesOf)
    .filter((values) => values.length >= from)
    .map(of);
  return statistics.length === 0 ? undefined : mean(statistics);
};

export interface FilterMeasurement {
  /** The filter's metric. */
  readonly metric: GroupMetric;
  /** Usable groups of the window. */
  readonly groups: readonly ScoredGroup[];
  /** The groups that are trained on. */
  readonly kept: readonly ScoredGroup[];
  /** Undefined of a window without groups. */
  readonly keptRatio: number | undefined;
  /** Groups whose score is zero. */
  readonly zeros: number;
  /** Groups that the rule selected beside enough others; absent where a window trains on all that are selected. */
  readonly surplus?: number;
  /** Episodes kept of a group, on average; absent where groups are kept whole. */
  readonly withinGroup?: number;
}

export const filterMetrics = ({
  groups,
  kept,
  keptRatio,
  metric,
  surplus,
  withinGroup,
  zeros,
}: FilterMeasurement): Metrics => {
  const rows = [...ownRows(metric), ...namedRows];
  return metricsFrom(
    ...rows.map(([usable, , values, statistic]) => [usable, averaged(groups, values, statistic)] as const),
    ...rows.map(([, chosen, values, statistic]) => [chosen, averaged(kept, values, statistic)] as const),
    [filter.paidStd, averaged(groups, paid, std)],
    [filter.keptCount, kept.length],
    [filter.keptRatio, keptRatio],
    [filter.zeroCount, zeros],
    [filter.empty, kept.length === 0 ? 1 : 0],
    [filter.surplus, surplus],
    [filter.withinGroup, withinGroup],
  );
};
