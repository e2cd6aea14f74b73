/**
 * Shares of the ways in which episodes ended. Invariants: the shares add up to 1; a failed episode counts among the failures and once more
 * under its reason.
 */
import type { FailureReason, Outcome } from "../domain/Episode.ts";
import { type Ending, endings, type Split } from "../domain/metrics/episodes.ts";
import { type Metrics, metricsFrom } from "../domain/metrics/Metrics.ts";

/** Success counts as such, whatever ended the episode: the last turn that is allowed may be the one that succeeds. */
const endingOf = (outcome: Outcome): Ending => {
  if (outcome._tag === "Failed") return "failed";
  if (outcome.success) return "succeeded";
  return outcome._tag === "Done" ? "environment" : outcome.reason;
};

const countOf = <Key>(counts: ReadonlyMap<Key, number>, key: Key): number => counts.get(key) ?? 0;

/**
 * Shares of the endings; none where nothing was played.
 * @param unplayed episodes that failed without an outcome, so that their reasons are not known
 */
export const endingMetrics = (split: Split, outcomes: readonly Outcome[], unplayed = 0): Metrics => {
  const total = outcomes.length + unplayed;
  if (total === 0) return metricsFrom();
  const ends = new Map<Ending, number>([["failed", unplayed]]);
  const reasons = new Map<FailureReason, number>();
  for (const outcome of outcomes) {
    const how = endingOf(outcome);
    ends.set(how, countOf(ends, how) + 1);
    if (outcome._tag === "Failed") reasons.set(outcome.reason, countOf(reasons, outcome.reason) + 1);
  }
  return metricsFrom(
    ...endings.all.map((how) => [endings.share.of({ split, how }), countOf(ends, how) / total] as const),
    ...[...reasons].map(([reason, count]) => [endings.failure.of({ split, reason }), count / total] as const),
  );
};
