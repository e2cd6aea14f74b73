/**
 * What the filter saw and kept, as the run's metrics under RAGEN's names. Statistics are taken within each group first and averaged over
 * groups (`…_sum` too); `chosen_` ones are over the kept groups, 0 when none was kept.
 */
import type { ScoredGroup } from "../domain/Group.ts";
import { maximum, mean, standardDeviation, sum } from "../domain/Statistics.ts";
import { entropies, lengths, rewards } from "./groupScore.ts";

type Spread = "std" | "max" | "mean";
type Family = "in_group" | "chosen_in_group";
type Names =
  | `rollout/${Family}_${Spread}`
  | `rollout/${Family}_reward_${Spread | "sum"}`
  | `rollout/${Family}_entropy_${Spread}`
  | `rollout/${Family}_length_${Spread}`
  | "rollout/filter_kept_count"
  | "rollout/filter_kept_ratio"
  | "rollout/filter_zero_count"
  | "rollout/empty_after_filter";

export type FilterMetrics = Readonly<Record<Names, number>>;

type ValuesOf = (group: ScoredGroup) => readonly number[];

/** Mean over the groups of a statistic within each. */
const averaged = (
  groups: readonly ScoredGroup[],
  values: ValuesOf,
  statistic: (values: readonly number[]) => number,
): number => mean(groups.map((group) => statistic(values(group))));

const spread = <P extends string>(prefix: P, groups: readonly ScoredGroup[], values: ValuesOf) =>
  ({
    [`${prefix}_std`]: averaged(groups, values, standardDeviation),
    [`${prefix}_max`]: averaged(groups, values, maximum),
    [`${prefix}_mean`]: averaged(groups, values, mean),
  }) as Record<`${P}_${Spread}`, number>;

const family = <F extends Family>(name: F, groups: readonly ScoredGroup[]) => ({
  ...spread(`rollout/${name}`, groups, rewards),
  ...spread(`rollout/${name}_reward`, groups, rewards),
  ...spread(`rollout/${name}_entropy`, groups, entropies),
  ...spread(`rollout/${name}_length`, groups, lengths),
});

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
): FilterMetrics => ({
  ...family("in_group", groups),
  ...family("chosen_in_group", kept),
  "rollout/in_group_reward_sum": averaged(groups, rewards, sum),
  "rollout/chosen_in_group_reward_sum": averaged(kept, rewards, sum),
  "rollout/filter_kept_count": kept.length,
  "rollout/filter_kept_ratio": windowSize === 0 ? 0 : kept.length / windowSize,
  "rollout/filter_zero_count": zeros,
  "rollout/empty_after_filter": kept.length === 0 ? 1 : 0,
});
