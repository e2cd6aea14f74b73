/**
 * Turns kept groups into a `TokenBatch`: one sequence per trained sequence, its prompts and replies end to end, exactly as shown and
 * sampled. Rewards lie where `domain/Placement` puts them. Invariant: the result depends on the set of groups, not on their order.
 */
import { type TokenBatch, trainedTokens } from "../domain/Batch.ts";
import { type EpisodeId, isTrained, type Turn, turnsOf } from "../domain/Episode.ts";
import type { ScoredEpisode, ScoredGroup } from "../domain/Group.ts";

export interface CollateOptions {
  readonly window: number;
  readonly temperature: number;
  /** Share of the window's groups that the filter kept. */
  readonly keptRatio: number;
  /**
   * Returns how many ids of a sequence's first prompt are not trained on; all later ids are. Without it only sampled ids are trained on.
   */
  readonly unseen?: ((prompt: Int32Array) => number) | undefined;
}

/** A trained sequence of an episode with the reward of each of its turns. */
interface RewardedSequence {
  readonly id: EpisodeId;
  readonly index: number;
  readonly turns: readonly Turn[];
  readonly rewards: readonly number[];
}

interface Arrays {
  readonly ids: Int32Array;
  readonly mask: Uint8Array;
  readonly mu: Float32Array;
  readonly versions: Int32Array;
  readonly rewards: Float32Array;
}

/**
 * Returns the rewards of an episode's turns. A turn without sampled tokens passes its score to the last earlier turn that has some, or else
 * to the first later one.
 */
const turnRewards = (turns: readonly Turn[], scores: readonly number[]): readonly number[] => {
  const rewards = turns.map(() => 0);
  let carrier = -1;
  let pending = 0;
  for (const [index, { sampled }] of turns.entries()) {
    if (sampled.ids.length > 0) carrier = index;
    pending += scores[index] ?? 0;
    if (carrier === -1) continue;
    rewards[carrier] = (rewards[carrier] ?? 0) + pending;
    pending = 0;
  }
  return rewards;
};

/** Puts `score` on the last turn that has a sampled token. */
const finalReward = (turns: readonly Turn[], score: number): readonly number[] => {
  const last = turns.findLastIndex(({ sampled }) => sampled.ids.length > 0);
  return turns.map((_, turn) => (turn === last ? score : 0));
};

/** Returns the trained sequences of an episode. Each carries the score, or turn scores are split over them. */
const sequencesOf = ({ episode, score, turnScores }: ScoredEpisode): readonly RewardedSequence[] => {
  const byTurn = turnScores === undefined ? undefined : turnRewards(turnsOf(episode), turnScores);
  let from = 0;
  return episode.sequences.flatMap((sequence, index) => {
    const { summary, turns } = sequence;
    let rewards = finalReward(turns, score);
    if (byTurn !== undefined) {
      const rewardedTurns = summary === undefined ? turns.length : 0;
      rewards = byTurn.slice(from, from + rewardedTurns);
      from += rewardedTurns;
    }
    return isTrained(sequence) ? [{ id: episode.id, index, turns, rewards }] : [];
  });
};

const lengthOf = ({ turns }: RewardedSequence): number =>
  turns.reduce((sum, { prompt, sampled }) => sum + prompt.length + sampled.ids.length, 0);

/** Writes one sequence from position `at`. A turn's reward lies on its last sampled token. */
const write = (
  arrays: Arrays,
  { turns, rewards }: RewardedSequence,
  at: number,
  unseen: CollateOptions["unseen"],
): void => {
  let position = at;
  for (const [index, { prompt, sampled }] of turns.entries()) {
    arrays.ids.set(prompt, position);
    // A sequence's first id has nothing before it to be predicted from.
    const skipped = index === 0 ? Math.max(1, unseen?.(prompt) ?? 1) : 0;
    if (unseen !== undefined) arrays.mask.fill(1, position + skipped, position + prompt.length);
    position += prompt.length;
    if (sampled.ids.length === 0) continue;
    arrays.ids.set(sampled.ids, position);
    arrays.mu.set(sampled.mu, position);
    arrays.versions.set(sampled.versions, position);
    arrays.mask.fill(1, position, position + sampled.ids.length);
    position += sampled.ids.length;
    arrays.rewards[position - 1] = rewards[index] ?? 0;
  }
};

/** Orders sequences by group id, then member, then index within the episode. */
export const collate = (groups: readonly ScoredGroup[], { unseen, ...options }: CollateOptions): TokenBatch => {
  const episodes = groups.flatMap((group) => group.episodes);
  const sequences = episodes
    .flatMap(sequencesOf)
    .sort((a, b) => a.id.group - b.id.group || a.id.member - b.id.member || a.index - b.index);
  const offsets = new Int32Array(sequences.length + 1);
  let tokens = 0;
  for (const [i, sequence] of sequences.entries()) {
    tokens += lengthOf(sequence);
    offsets[i + 1] = tokens;
  }
  const arrays: Arrays = {
    ids: new Int32Array(tokens),
    mask: new Uint8Array(tokens),
    mu: new Float32Array(tokens),
    versions: new Int32Array(tokens).fill(-1),
    rewards: new Float32Array(tokens),
  };
  for (const [i, sequence] of sequences.entries()) write(arrays, sequence, offsets[i] ?? 0, unseen);
  return {
    ...arrays,
    ...options,
    placement: episodes.some(({ turnScores }) => turnScores !== undefined) ? "turn" : "sequence",
    offsets,
    groups: Int32Array.from(sequences, ({ id }) => id.group),
    members: Int32Array.from(sequences, ({ id }) => id.member),
    sequenceIndex: Int32Array.from(sequences, ({ index }) => index),
  };
};

/** Collates the kept groups of a window. Returns undefined if none of their tokens is trained on. */
export const collateTrained = (
  { kept, keptRatio }: { readonly kept: readonly ScoredGroup[]; readonly keptRatio: number },
  options: Omit<CollateOptions, "keptRatio">,
): TokenBatch | undefined => {
  const batch = collate(kept, { ...options, keptRatio });
  return trainedTokens(batch) === 0 ? undefined : batch;
};
