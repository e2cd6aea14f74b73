/**
 * The units of a batch beside tokens and sequences: episodes (of one or more sequences), the trajectories that rewards flow along, and
 * turns. Invariant: every sequence is in one episode and in one trajectory, in the order they were played.
 */
import { allSequences, type TokenBatch } from "./Batch.ts";
import { episodeIndices } from "./Placement.ts";

type Sequences = Pick<TokenBatch, "offsets" | "groups" | "members" | "sequenceIndex">;

/** The sequences of each episode, (group, member); episodes in the batch's order. */
export const episodesOf = (batch: Sequences): readonly (readonly number[])[] => {
  const episodes: number[][] = [];
  episodeIndices(batch).forEach((episode, sequence) => {
    episodes[episode] = [...(episodes[episode] ?? []), sequence];
  });
  const bySequenceIndex = (a: number, b: number): number =>
    (batch.sequenceIndex[a] ?? 0) - (batch.sequenceIndex[b] ?? 0);
  return episodes.map((episode) => episode.sort(bySequenceIndex));
};

/**
 * Sequences that an estimate runs through end to end. Where each turn carries its own reward, an episode's sequences are parts of one trajectory:
 * the last token of one leads to the first trained token of the next. Where each sequence carries the whole score, each is a
 * trajectory of its own, so that no score is counted twice.
 */
export const trajectoriesOf = (batch: Sequences & Pick<TokenBatch, "placement">): readonly (readonly number[])[] =>
  batch.placement === "turn" ? episodesOf(batch) : allSequences(batch).map((sequence) => [sequence]);

/**
 * First and last position of each turn in `mask`. A turn is a run of trained tokens; untrained text between replies separates turns, as
 * does a sequence's first position.
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
