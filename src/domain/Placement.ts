/**
 * The placement of an episode's reward among its token sequences: the one rule between scores of episodes and rewards of tokens. Invariant:
 * an episode has one score, however many sequences it is trained in.
 *
 * Units: scores, filters and group statistics count episodes. Rewards lie on the last sampled token of a sequence or of a turn.
 * Mini-batches, losses and response lengths count sequences, which are RAGEN's samples.
 */
import { allSequences, boundsOf, type TokenBatch } from "./Batch.ts";

/**
 * `sequence`: every token sequence carries the episode's score, at its last sampled token. With one sequence an episode that is the end of
 * the episode; with one a turn it is RAGEN's rule of its turn-level context modes. `turn`: each turn carries its own score, at its last
 * sampled token, and the episode's score is their sum.
 */
export type Placement = TokenBatch["placement"];

type Rewarded = Pick<TokenBatch, "offsets" | "rewards">;
type Owned = Pick<TokenBatch, "offsets" | "groups" | "members">;

/** Sum of the rewards of each sequence, [sequences]. */
export const sequenceScores = (batch: Rewarded): Float64Array =>
  Float64Array.from(allSequences(batch), (sequence) =>
    batch.rewards.subarray(...boundsOf(batch, sequence)).reduce((sum, reward) => sum + reward, 0),
  );

/** The episode of each sequence: episodes are numbered from 0 in the order of their first sequences. [sequences] */
export const episodeIndices = ({ groups, members, offsets }: Owned): Int32Array => {
  const numbers = new Map<string, number>();
  return Int32Array.from(allSequences({ offsets }), (sequence) => {
    const key = `${groups[sequence]}.${members[sequence]}`;
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  });
};

/** Score of the episode that each sequence is of, by the batch's placement: the same for all sequences of an episode. [sequences] */
export const episodeScores = (batch: Rewarded & Owned & Pick<TokenBatch, "placement">): Float64Array => {
  const scores = sequenceScores(batch);
  if (batch.placement === "sequence") return scores;
  const indices = episodeIndices(batch);
  const sums = new Map<number, number>();
  indices.forEach((episode, sequence) => {
    sums.set(episode, (sums.get(episode) ?? 0) + scores[sequence]!);
  });
  return Float64Array.from(indices, (episode) => sums.get(episode)!);
};
