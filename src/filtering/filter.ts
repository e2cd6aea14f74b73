/**
 * The filter: a scored window in, the groups worth an update out, with a verdict on every group. Pure, and relative to the window, which
 * is the update's batch. Invariants: whole groups only, kept in the window's order; every group gets exactly one verdict; keeping none
 * is a value.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { isFailedScored, type ScoredGroup, type ScoredWindow } from "../domain/Group.ts";
import { type FilterMetrics, filterMetrics } from "./FilterMetrics.ts";
import { groupScore } from "./groupScore.ts";
import { isZero, select } from "./select.ts";

/** `zero`: no score and `include_zero` is off; `rule`: not selected. A failed group is not judged: fewer than two usable episodes. */
export type Verdict =
  | { readonly _tag: "Kept"; readonly group: number; readonly score: number }
  | { readonly _tag: "Dropped"; readonly group: number; readonly reason: "zero" | "rule"; readonly score: number }
  | { readonly _tag: "Failed"; readonly group: number };

export interface Filtered {
  readonly kept: readonly ScoredGroup[];
  /** One per group of the window, in its order. */
  readonly verdicts: readonly Verdict[];
  /** Kept groups over all groups of the window. */
  readonly keptRatio: number;
  readonly metrics: FilterMetrics;
}

export const filter = (window: ScoredWindow, config: RunConfig["filter"]): Filtered => {
  const judged = window.groups.filter((group) => !isFailedScored(group));
  const scores = judged.map(groupScore[config.metric]);
  const selected = new Set(select(scores, window.groups.length, config).map((index) => judged[index]!));
  const scoreOf = new Map(judged.map((group, i) => [group, scores[i]!]));

  const verdict = (group: ScoredGroup): Verdict => {
    const score = scoreOf.get(group);
    const id = group.prompt.group;
    if (score === undefined) return { _tag: "Failed", group: id };
    if (selected.has(group)) return { _tag: "Kept", group: id, score };
    return { _tag: "Dropped", group: id, reason: !config.include_zero && isZero(score) ? "zero" : "rule", score };
  };

  const kept = window.groups.filter((group) => selected.has(group));
  const metrics = filterMetrics(judged, kept, window.groups.length, scores.filter(isZero).length);
  return { kept, verdicts: window.groups.map(verdict), keptRatio: metrics["rollout/filter_kept_ratio"], metrics };
};
