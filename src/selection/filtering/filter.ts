/**
 * The filter: which groups of a scored window the update trains on, with a verdict on every group. Pure, and relative to the window, which
 * is the update's batch. Invariants: groups are kept in the window's order, whole but under `within_group`; every group gets exactly one
 * verdict; an empty selection is a value, not an error.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { VerdictName } from "../../domain/EpisodeRecord.ts";
import type { JudgedGroup } from "../../domain/Event.ts";
import { type Group, isFailedScored, meanReward, type ScoredGroup, type ScoredWindow } from "../../domain/Group.ts";
import type { Metrics } from "../../domain/metrics/Metrics.ts";
import { mean } from "../../domain/Statistics.ts";
import { filterMetrics } from "./FilterMetrics.ts";
import { groupScore } from "./groupScore.ts";
import * as Refill from "./refill.ts";
import { isZero, select } from "./select.ts";
import { trimGroup } from "./withinGroup.ts";

/**
 * `zero`: the score is zero and `include_zero` is off; `rule`: not selected; `surplus`: selected, but `filter.refill.target` others come before it. A
 * failed group is not judged: fewer than two usable episodes.
 */
export type Verdict =
  | { readonly _tag: "Kept"; readonly group: number; readonly score: number }
  | {
      readonly _tag: "Dropped";
      readonly group: number;
      readonly reason: "zero" | "rule" | "surplus";
      readonly score: number;
    }
  | { readonly _tag: "Failed"; readonly group: number };

/** The verdict as records name it. */
export const verdictName = (verdict: Verdict): VerdictName => {
  switch (verdict._tag) {
    case "Kept":
      return "kept";
    case "Failed":
      return "failed";
    case "Dropped":
      return verdict.reason;
  }
};

/** The filter's result for a window: the groups that it keeps, and a verdict on each. */
export interface FilterResult {
  /** Under `within_group` with the chosen of their episodes only. */
  readonly kept: readonly ScoredGroup[];
  /** One per group of the window, in its order. */
  readonly verdicts: readonly Verdict[];
  /** Kept groups over the groups of the window, under `within_group` kept episodes over usable ones; 0 of an empty one. */
  readonly keptRatio: number;
  readonly metrics: Metrics;
}

/**
 * Selects the groups to train on from a window's usable groups and their scores. Pure; returned groups that are not among them are ignored.
 */
export type Selection = (
  groups: readonly ScoredGroup[],
  scores: readonly number[],
  window: ScoredWindow,
) => readonly ScoredGroup[];

const ratio = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

/** The run file's rule. */
const ruleOf =
  (config: RunConfig["filter"]): Selection =>
  (groups, scores, window) => {
    const chosen = new Set(select(scores, window.groups.length, config));
    return groups.filter((_, index) => chosen.has(index));
  };

/** All usable groups of a window, as if a filter kept them. */
export const keepAll = ({ groups }: ScoredWindow): Pick<FilterResult, "kept" | "keptRatio"> => ({
  kept: groups.filter((group) => !isFailedScored(group)),
  keptRatio: 1,
});

/** Judges a window by the run file's rule, or by `selection` in its place. */
export const filter = (
  window: ScoredWindow,
  config: RunConfig["filter"],
  selection: Selection = ruleOf(config),
): FilterResult => {
  const judged = window.groups.filter((group) => !isFailedScored(group));
  const scoreOf = new Map(judged.map((group) => [group, groupScore[config.metric](group)]));
  const scores = [...scoreOf.values()];
  const selected = new Set(selection(judged, scores, window));
  const whole = judged.filter((group) => selected.has(group));
  const trained = new Set(Refill.withoutSurplus(config.refill, whole));
  const within = config.strategy === "within_group";
  const kept = [...trained].map((group) => (within ? trimGroup(group, config.value) : group));

  const reasonOf = (group: ScoredGroup, score: number): "zero" | "rule" | "surplus" => {
    if (selected.has(group)) return "surplus";
    return !config.include_zero && isZero(score) ? "zero" : "rule";
  };
  const verdict = (group: ScoredGroup): Verdict => {
    const score = scoreOf.get(group);
    const id = group.prompt.group;
    if (score === undefined) return { _tag: "Failed", group: id };
    if (trained.has(group)) return { _tag: "Kept", group: id, score };
    return { _tag: "Dropped", group: id, reason: reasonOf(group, score), score };
  };

  const episodesOf = (groups: readonly ScoredGroup[]) => groups.reduce((sum, { episodes }) => sum + episodes.length, 0);
  const keptRatio = within ? ratio(episodesOf(kept), episodesOf(judged)) : ratio(kept.length, window.groups.length);
  return {
    kept,
    verdicts: window.groups.map(verdict),
    keptRatio,
    metrics: filterMetrics({
      metric: config.metric,
      groups: judged,
      kept,
      keptRatio: window.groups.length === 0 ? undefined : keptRatio,
      zeros: scores.filter(isZero).length,
      ...(Refill.isOn(config.refill) ? { surplus: whole.length - kept.length } : {}),
      ...(within && kept.length > 0 ? { withinGroup: mean(kept.map(({ episodes }) => episodes.length)) } : {}),
    }),
  };
};

/** A window, and the groups that failed before the filter. */
export interface WindowGroups {
  readonly groups: readonly Group[];
  readonly failed: readonly Group[];
}

const judgedGroup = (verdict: Verdict, group: Group): JudgedGroup => ({
  group: group.prompt.group,
  verdict: verdictName(verdict),
  ...(verdict._tag === "Failed" ? {} : { score: verdict.score }),
  reward: meanReward(group),
});

/** One for each group, those that failed before the filter last. */
export const judgedGroups = ({ verdicts }: FilterResult, { failed, groups }: WindowGroups): readonly JudgedGroup[] => [
  ...groups.flatMap((group, i) => {
    const verdict = verdicts[i];
    return verdict === undefined ? [] : [judgedGroup(verdict, group)];
  }),
  ...failed.map((group) => judgedGroup({ _tag: "Failed", group: group.prompt.group }, group)),
];
