/** The filter's verdict on every group of a window, as the run's events record it. */
import type { JudgedGroup } from "../../domain/Event.ts";
import { type Group, meanReward } from "../../domain/Group.ts";
import * as Filtering from "./filter.ts";

/** A window, and the groups that failed before the filter. */
export interface WindowGroups {
  readonly groups: readonly Group[];
  readonly failed: readonly Group[];
}

const judgedGroup = (verdict: Filtering.Verdict, group: Group): JudgedGroup => ({
  group: group.prompt.group,
  verdict: Filtering.verdictName(verdict),
  ...(verdict._tag === "Failed" ? {} : { score: verdict.score }),
  reward: meanReward(group),
});

/** One for each group, those that failed before the filter last. */
export const judgedGroups = (
  { verdicts }: Filtering.FilterResult,
  { failed, groups }: WindowGroups,
): readonly JudgedGroup[] => [
  ...groups.flatMap((group, i) => {
    const verdict = verdicts[i];
    return verdict === undefined ? [] : [judgedGroup(verdict, group)];
  }),
  ...failed.map((group) => judgedGroup({ _tag: "Failed", group: group.prompt.group }, group)),
];
