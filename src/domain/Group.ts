/**
 * A group: `group_size` episodes of one seed. It is what flows between stages. A window is the groups of one update, in the order
 * the update consumes them; batch-relative rules (normalisation, filter) see a whole window, never less.
 */
import type { Episode, Version } from "./Episode.ts";
import { failed, penaltyOf, rewardOf, sampledTokens } from "./Episode.ts";
import { mean } from "./Statistics.ts";

/** The tag under which a level of a preset, or of an agent, is played. */
export const levelTag = (tag: string, level: string): string => `${tag}:${level}`;

/** The instance that a group plays, as the seed schedule gives it to the rollout stage. */
export interface Prompt {
  /** The group's id: its place in the order of admission, or a number of its own for a refill (`SeedSchedule`). */
  readonly group: number;
  readonly tag: string;
  readonly seed: number;
  readonly size: number;
  /** The weights version current at admission, or the one that plays the group under a fixed lag. */
  readonly admittedAt: Version;
  /** The one version that plays the group, under a fixed lag; absent where it follows the newest. */
  readonly pin?: Version;
  /** The next update waits for this group: it refills a window that has all others, or is of the run's first window. */
  readonly urgent?: true;
}

/** The episodes of one seed, which pass the stages together. */
export interface Group {
  readonly prompt: Prompt;
  readonly episodes: readonly Episode[];
  /** The instance's content key; absent of an agent's task, and where the reset failed. */
  readonly contentKey?: string;
  /** A training group that plays an instance of validation, because no other was found. */
  readonly heldOut?: true;
}

/** The groups of one update, sorted by group id so that the update's bits do not depend on arrival order. */
export interface Window {
  /** Number of this window in the run, from 0; counts consumed windows, trained or not. */
  readonly index: number;
  readonly groups: readonly Group[];
}

export const idsOf = (groups: readonly { readonly prompt: Prompt }[]): readonly number[] =>
  groups.map(({ prompt }) => prompt.group);

/** Episodes that take part in statistics and loss. */
export const members = (group: Group): readonly Episode[] => group.episodes.filter((episode) => !failed(episode));
/** A group with fewer than two usable episodes (or its only one failed) has no statistics. */
export const isFailed = (group: Group): boolean => members(group).length < Math.min(2, group.episodes.length);
/** Why the first failed episode of a failed group failed. */
export const failureOf = (group: Group): string | undefined => {
  const outcome = isFailed(group) ? group.episodes.find(failed)?.outcome : undefined;
  return outcome?._tag === "Failed" ? `${outcome.reason}: ${outcome.message}` : undefined;
};
export const groupTokens = (group: Group): number => group.episodes.reduce((sum, e) => sum + sampledTokens(e), 0);

/** Mean of rewards and penalties over all episodes; 0 of a group without any. */
export const meanReward = ({ episodes }: Group): number =>
  episodes.length === 0 ? 0 : mean(episodes.map((episode) => rewardOf(episode) + penaltyOf(episode)));

/** An episode of a window with its scalar score. */
export interface ScoredEpisode {
  readonly episode: Episode;
  /** Reward as the update sees it: rewards plus penalty, then normalised. */
  readonly score: number;
  /** The reward of each turn where each carries its own, in the order of `turnsOf`; absent where each sequence carries the score. */
  readonly turnScores?: readonly number[];
}

/** A group with a score for each usable episode. */
export interface ScoredGroup {
  readonly prompt: Prompt;
  readonly episodes: readonly ScoredEpisode[];
  /** Episodes that failed, kept for the ledger and the logs. */
  readonly failures: readonly Episode[];
}

/** A window with a score for each usable episode. */
export interface ScoredWindow {
  readonly index: number;
  readonly groups: readonly ScoredGroup[];
}

/** As `isFailed`, of a group already scored. */
export const isFailedScored = ({ episodes, failures }: ScoredGroup): boolean =>
  episodes.length < Math.min(2, episodes.length + failures.length);
