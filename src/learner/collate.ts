/**
 * Kept groups to a `TokenBatch`: each episode becomes one sequence, its prompts and replies end to end, exactly as they were shown
 * and sampled. Invariant: the result depends on the set of groups, not on the order they arrive in.
 */
import type { TokenBatch } from "../domain/Batch.ts";
import { type Episode, sampledTokens, totalTokens } from "../domain/Episode.ts";
import type { ScoredEpisode, ScoredGroup } from "../domain/Group.ts";

export interface CollateOptions {
  readonly window: number;
  readonly temperature: number;
  /** Share of the window's groups that are here. */
  readonly keptRatio: number;
}

interface Arrays {
  readonly ids: Int32Array;
  readonly mask: Uint8Array;
  readonly mu: Float32Array;
  readonly versions: Int32Array;
  readonly rewards: Float32Array;
}

/**
 * Writes one episode from position `at`. A turn's score lands on the last token sampled up to the end of that turn, and a
 * score without any such token on the first one that follows.
 */
const writeEpisode = (arrays: Arrays, { episode, turnScores }: ScoredEpisode, at: number): void => {
  let position = at;
  let lastTrained = -1;
  let pending = 0;
  episode.turns.forEach((turn, index) => {
    const { prompt, sampled } = turn;
    arrays.ids.set(prompt, position);
    position += prompt.length;
    arrays.ids.set(sampled.ids, position);
    arrays.mu.set(sampled.mu, position);
    arrays.versions.set(sampled.versions, position);
    arrays.mask.fill(1, position, position + sampled.ids.length);
    position += sampled.ids.length;
    if (sampled.ids.length > 0) lastTrained = position - 1;
    pending += turnScores[index] ?? 0;
    if (lastTrained >= 0) {
      arrays.rewards[lastTrained] += pending;
      pending = 0;
    }
  });
};

const trainable = (episode: Episode): boolean => sampledTokens(episode) > 0;

/** Sequences in order of group id, then member; episodes without a sampled token have nothing to train on and are left out. */
export const collate = (groups: readonly ScoredGroup[], options: CollateOptions): TokenBatch => {
  const episodes = groups
    .flatMap((group) => group.episodes)
    .filter(({ episode }) => trainable(episode))
    .sort((a, b) => a.episode.id.group - b.episode.id.group || a.episode.id.member - b.episode.id.member);
  const offsets = new Int32Array(episodes.length + 1);
  episodes.forEach(({ episode }, i) => {
    offsets[i + 1] = offsets[i] + totalTokens(episode);
  });
  const tokens = offsets[episodes.length];
  const arrays: Arrays = {
    ids: new Int32Array(tokens),
    mask: new Uint8Array(tokens),
    mu: new Float32Array(tokens),
    versions: new Int32Array(tokens).fill(-1),
    rewards: new Float32Array(tokens),
  };
  episodes.forEach((scored, i) => {
    writeEpisode(arrays, scored, offsets[i]);
  });
  return {
    ...arrays,
    ...options,
    offsets,
    groups: Int32Array.from(episodes, ({ episode }) => episode.id.group),
    members: Int32Array.from(episodes, ({ episode }) => episode.id.member),
  };
};
