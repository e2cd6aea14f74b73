/**
 * Windows as the filter saw them: groups by rank, how many met which verdict, and where a group lies in the drawing. Invariant: every group of a
 * window has one rank, and failed ones, which have no score, come last.
 */
import type { VerdictName } from "../../../../domain/EpisodeRecord.ts";
import type { JudgedGroup } from "../../../../domain/Event.ts";
import type { WindowView } from "../../Api.ts";

export const verdicts = ["kept", "surplus", "rule", "zero", "failed"] as const satisfies readonly VerdictName[];

export const saying: Readonly<Record<VerdictName, string>> = {
  kept: "kept",
  surplus: "surplus",
  rule: "below the cut",
  zero: "no variance",
  failed: "failed",
};

/** Highest score first; within equal scores kept ones first; failed ones last. */
export const ranked = (groups: readonly JudgedGroup[]): readonly JudgedGroup[] =>
  groups.toSorted(
    (a, b) =>
      (b.score ?? Number.NEGATIVE_INFINITY) - (a.score ?? Number.NEGATIVE_INFINITY) ||
      verdicts.indexOf(a.verdict) - verdicts.indexOf(b.verdict) ||
      a.group - b.group,
  );

export type Tally = Readonly<Record<VerdictName, number>> & { readonly all: number };

export const tallyOf = (windows: readonly Pick<WindowView, "groups">[]): Tally => {
  const counts = { kept: 0, surplus: 0, rule: 0, zero: 0, failed: 0, all: 0 };
  for (const { groups } of windows) {
    for (const { verdict } of groups) {
      counts[verdict] += 1;
      counts.all += 1;
    }
  }
  return counts;
};

export const keptShare = (window: Pick<WindowView, "groups">): number | null => {
  const { all, kept } = tallyOf([window]);
  return all === 0 ? null : kept / all;
};

/** The greatest score of all windows, and the most groups of one; at least what a drawing needs. */
export const extentOf = (windows: readonly WindowView[]): { readonly score: number; readonly groups: number } => {
  let score = 0;
  let groups = 1;
  for (const window of windows) {
    groups = Math.max(groups, window.groups.length);
    for (const group of window.groups) score = Math.max(score, group.score ?? 0);
  }
  return { score: score > 0 ? score : 1, groups };
};

/** The window under a place along the drawing; null beside all of them. */
export const indexAt = (x: number, width: number, count: number): number | null => {
  const index = Math.floor((x / width) * count);
  return count > 0 && index >= 0 && index < count ? index : null;
};

/** The index of a window by its number, or of the one before it. Several windows share the step under way. */
export const indexOfWindow = (windows: readonly WindowView[], number: number): number =>
  Math.max(
    0,
    windows.findLastIndex(({ window }) => window <= number),
  );

/** The steps asked for: the whole run up to `to`, or its last windows alone. */
export const spanOf = (to: number, last: number | null): { readonly from: number; readonly to: number } => ({
  from: last === null ? 1 : Math.max(1, to - last + 1),
  to,
});
