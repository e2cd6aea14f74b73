/** The totals of a window that was consumed in virtual time. Times are milliseconds. */
import type { Sampled } from "../GeneratorThreads.ts";
import { type PlayedGroup, sampledOf, tokensOf, trainedOf } from "./Played.ts";

/** One consumed window. */
export interface ConsumedWindow {
  /** When, milliseconds. */
  readonly at: number;
  /** Numbers of its groups. */
  readonly groups: readonly number[];
  /** Sampled tokens of its groups. */
  readonly sampled: number;
  /** Tokens of its kept groups, prompts included, and the sampled ones of them. */
  readonly tokens: number;
  readonly trained: number;
  /** Trained tokens that older weights sampled, by how many versions in all, and by how many at most. */
  readonly stale: number;
  readonly versionsBehind: number;
  readonly mostBehind: number;
  /** Time of its update. */
  readonly learning: number;
  /**
   * Sums over all generator threads since the window before: time in steps, decode steps, and sampled tokens. They count work for any
   * window.
   */
  readonly generating: number;
  readonly decodeSteps: number;
  readonly generated: number;
}

/** A group whose episodes have ended, and the versions that sampled its replies. */
export interface FinishedGroup {
  readonly group: PlayedGroup;
  readonly number: number;
  readonly sampled: readonly Sampled[];
}

/** The tokens of a window, and how far behind `version`, the learner's, those that are trained on are. */
export const tokensIn = (window: readonly FinishedGroup[], version: number) => {
  const kept = window.filter(({ group }) => group.kept);
  const sum = (partOf: (group: PlayedGroup) => number, groups: readonly FinishedGroup[]) =>
    groups.reduce((total, { group }) => total + partOf(group), 0);
  let [stale, versionsBehind, mostBehind] = [0, 0, 0];
  for (const [sampledBy, tokens] of kept.flatMap(({ sampled }) => sampled.flat())) {
    const behind = version - sampledBy;
    if (behind > 0) stale += tokens;
    versionsBehind += behind * tokens;
    mostBehind = Math.max(mostBehind, behind);
  }
  return {
    groups: window.map(({ number }) => number),
    sampled: sum(sampledOf, window),
    tokens: sum(tokensOf, kept),
    trained: sum(trainedOf, kept),
    stale,
    versionsBehind,
    mostBehind,
  };
};
