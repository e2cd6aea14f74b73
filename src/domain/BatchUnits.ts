/**
 * What a batch is counted by beside its tokens and sequences: episodes, which may have several sequences, the trajectories that rewards flow
 * along, and turns. Invariant: every sequence is in one episode and in one trajectory, in the order they were played.
 */
import { allSequences, boundsOf, type TokenBatch } from "./Batch.ts";

type Sequences = Pick<TokenBatch, "offsets" | "groups" | "members" | "sequenceIndex">;

/** The sequences of each episode, (group, member); episodes in the batch's order. */
export const episodesOf = (batch: Sequences): readonly (readonly number[])[] => {
  const episodes = new Map<string, number[]>();
  for (const sequence of allSequences(batch)) {
    const id = `${batch.groups[sequence]}/${batch.members[sequence]}`;
    const others = episodes.get(id);
    if (others === undefined) episodes.set(id, [sequence]);
    else others.push(sequence);
  }
  const played = (a: number, b: number): number => (batch.sequenceIndex[a] ?? 0) - (batch.sequenceIndex[b] ?? 0);
  return Array.from(episodes.values(), (episode) => episode.sort(played));
};

/**
 * Sequences that an estimate runs through end to end. Where an episode's score is split, its sequences are parts of one way: the last
 * token of one leads to the first trained token of the next. Where each repeats the whole score, each is a way of its own.
 */
export const trajectoriesOf = (
  batch: Sequences & Pick<TokenBatch, "scorePlacement">,
): readonly (readonly number[])[] =>
  batch.scorePlacement === "split" ? episodesOf(batch) : allSequences(batch).map((sequence) => [sequence]);

const sequenceReward = (batch: Pick<TokenBatch, "offsets" | "rewards">, sequence: number): number =>
  batch.rewards.subarray(...boundsOf(batch, sequence)).reduce((sum, reward) => sum + reward, 0);

/** Score of an episode, given by its sequences: what they carry in all where it is split, that of the last where each repeats it. */
export const episodeScore = (
  batch: Pick<TokenBatch, "offsets" | "rewards" | "scorePlacement">,
  episode: readonly number[],
): number => {
  const counted = batch.scorePlacement === "split" ? episode : episode.slice(-1);
  return counted.reduce((sum, sequence) => sum + sequenceReward(batch, sequence), 0);
};

/**
 * First and last position of each turn among the positions of `mask`, a run of trained tokens; the text between two replies parts them, and so
 * does the untrained first position of a sequence.
 */
export const turnsIn = (mask: ArrayLike<number>): readonly (readonly [first: number, last: number])[] => {
  const turns: [number, number][] = [];
  let first = -1;
  for (let t = 0; t < mask.length; t++) {
    if (mask[t] === 0) continue;
    if (first === -1) first = t;
    if ((mask[t + 1] ?? 0) !== 0) continue;
    turns.push([first, t]);
    first = -1;
  }
  return turns;
};
