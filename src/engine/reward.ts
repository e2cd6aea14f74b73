/**
 * A reward of the user's own in place of the environment's, for training episodes. Invariant: an episode whose reward cannot be computed has
 * failed; it never counts as one that earned 0.
 */
import { Context } from "effect";
import { type Episode, failed, isReward, type Sequence, turnsOf } from "../domain/Episode.ts";
import type { Group } from "../domain/Group.ts";

/** The reward of a whole episode, given at its last turn, or the reward of each of its turns. */
export type RewardFunction = (episode: Episode) => number | readonly number[];

/** The reward function of a run; null where environments give the rewards. */
export const Reward = Context.Reference<RewardFunction | null>("millrace/engine/Reward", { defaultValue: () => null });

/** The rewards of the turns. Throws an `Error` with a sentence where there is not one number for each. */
const turnRewards = (episode: Episode, reward: RewardFunction): readonly number[] => {
  const { length } = turnsOf(episode);
  const result = reward(episode);
  const rewards = typeof result === "number" ? [...Array<number>(Math.max(0, length - 1)).fill(0), result] : result;
  const isList = Array.isArray(rewards) && rewards.every(isReward);
  if (!isList) throw new Error(`returned ${String(result)}, no number of at most 1e9 and no list of such numbers`);
  if (rewards.length !== length) throw new Error(`returned ${rewards.length} rewards for ${length} turns`);
  return rewards;
};

const withTurnRewards = (episode: Episode, rewards: readonly number[]): Episode => {
  const next = rewards.values();
  const sequences = episode.sequences.map(
    (sequence): Sequence =>
      sequence.summary === undefined
        ? { ...sequence, turns: sequence.turns.map((turn) => ({ ...turn, reward: next.next().value ?? turn.reward })) }
        : sequence,
  );
  return { ...episode, sequences };
};

const rewardedEpisode = (episode: Episode, reward: RewardFunction): Episode => {
  if (failed(episode) || turnsOf(episode).length === 0) return episode;
  try {
    return withTurnRewards(episode, turnRewards(episode, reward));
  } catch (error) {
    const message = `reward: ${error instanceof Error ? error.message : String(error)}`;
    return { ...episode, outcome: { _tag: "Failed", reason: "step_error", message } };
  }
};

/** A group whose episodes have the rewards of `reward`. */
export const rewarded = (group: Group, reward: RewardFunction | null): Group =>
  reward === null ? group : { ...group, episodes: group.episodes.map((episode) => rewardedEpisode(episode, reward)) };
