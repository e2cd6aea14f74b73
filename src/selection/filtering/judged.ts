/** What the filter says of every group of a window, as the run's record has it. */
import type { JudgedGroup } from "../../domain/Event.ts";
import { type Group, meanReward } from "../../domain/Group.ts";
import * as Filtering from "./filter.ts";

/** A window, and the groups that failed before the filter. */
export interface Judgeable {
  readonly groups: readonly Group[];
  readonly failed: readonly Group[];
}

const judged = (verdict: Filtering.Verdict, group: Group): JudgedGroup => ({
  group: group.prompt.group,
  verdict: Filtering.verdictName(verdict),
  ...(verdict._tag === "Failed" ? {} : { score: verdict.score }),
  reward: meanReward(group),
});

/** One for each group, those that failed before the filter last. */
export const judgedGroups = (
  { verdicts }: Filtering.Filtered,
  { failed, groups }: Judgeable,
): readonly JudgedGroup[] => [
  ...groups.flatMap((group, i) => {
    const verdict = verdicts[i];
    return verdict === undefined ? [] : [judged(verdict, group)];
  }),
  ...failed.map((group) => judged({ _tag: "Failed", group: group.prompt.group }, group)),
];
