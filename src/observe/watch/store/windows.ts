/** A window with the filter's verdicts, from its line of events.jsonl. Pure. */
import type { JudgedGroup } from "../../../domain/Event.ts";
import type { EventLine } from "../../record/events/EventLine.ts";
import type { WindowView } from "../Api.ts";

const scoresOf = (groups: readonly JudgedGroup[], verdict: JudgedGroup["verdict"]): readonly number[] =>
  groups.flatMap((group) => (group.verdict === verdict && group.score !== undefined ? [group.score] : []));

/** The score at the edge of the kept ones: the lowest, or the highest if the groups above were left out. */
export const cutScore = (groups: readonly JudgedGroup[]): number | null => {
  const kept = scoresOf(groups, "kept");
  if (kept.length === 0) return null;
  const out = scoresOf(groups, "rule");
  const smallest = out.length > 0 && Math.min(...out) >= Math.max(...kept) && Math.max(...out) > Math.min(...kept);
  return smallest ? Math.max(...kept) : Math.min(...kept);
};

const isJudged = (value: unknown): boolean =>
  Array.isArray(value) && value.every((group) => typeof group === "object" && group !== null);

/** The step that trains a window. Its verdict may come several steps earlier. */
export const stepOfWindow = (window: number): number => window + 1;

export const windowView = (line: EventLine): WindowView | null =>
  line._tag === "Verdict" && isJudged(line.judged)
    ? {
        window: line.window,
        step: stepOfWindow(line.window),
        at: line.at,
        groups: line.judged,
        cut: cutScore(line.judged),
      }
    : null;
