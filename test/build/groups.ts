/** Prompts and groups around episodes. */
import type { Episode, Outcome } from "../../src/domain/Episode.ts";
import type { Group, Prompt, ScoredEpisode, ScoredGroup } from "../../src/domain/Group.ts";
import { episodeOf } from "./episodes.ts";

/** The prompt of a group whose seed is its number. */
export const promptOf = (group: number, size = 1, changes: Partial<Prompt> = {}): Prompt => ({
  group,
  tag: "T",
  seed: group,
  size,
  admittedAt: 0,
  ...changes,
});

/** A group of one episode for each outcome. */
export const groupOf = (group: number, outcomes: readonly Outcome[], changes: Partial<Episode> = {}): Group => ({
  prompt: promptOf(group, outcomes.length, changes.tag === undefined ? {} : { tag: changes.tag }),
  episodes: outcomes.map((outcome, member) => episodeOf(group, member, { ...changes, outcome })),
});

export const groupOfEpisodes = (group: number, episodes: readonly Episode[], changes: Partial<Prompt> = {}): Group => ({
  prompt: promptOf(group, episodes.length, changes),
  episodes,
});

export const scoredGroupOf = (
  group: number,
  episodes: readonly ScoredEpisode[],
  failures: readonly Episode[] = [],
): ScoredGroup => ({ prompt: promptOf(group, episodes.length + failures.length), episodes, failures });
