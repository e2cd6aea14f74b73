/** An episode in a few numbers, which the run's events record for every episode, whether or not its trajectory is sampled. */
import { type Episode, failed, penaltyOf, repliesOf, rewardOf, succeeded, turnsOf, type Version } from "./Episode.ts";

/** An episode in a few numbers. */
export interface EpisodeSummary {
  readonly success: boolean;
  /** Rewards and penalties. */
  readonly reward: number;
  readonly turns: number;
  /** The sampled tokens in order, as runs of one weights version: a run after the first is an adoption at that position. */
  readonly versions: readonly VersionRun[];
  readonly failed: boolean;
}

export type VersionRun = readonly [version: Version, tokens: number];

/** Runs of equal versions, in order. */
export const runsOf = (versions: Iterable<Version>): readonly VersionRun[] => {
  const runs: [Version, number][] = [];
  for (const version of versions) {
    const last = runs.at(-1);
    if (last !== undefined && last[0] === version) last[1]++;
    else runs.push([version, 1]);
  }
  return runs;
};

export const summaryOf = (episode: Episode): EpisodeSummary => ({
  success: succeeded(episode),
  reward: rewardOf(episode) + penaltyOf(episode),
  turns: turnsOf(episode).length,
  versions: runsOf(repliesOf(episode).flatMap(({ sampled }) => [...sampled.versions])),
  failed: failed(episode),
});
