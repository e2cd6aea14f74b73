/** An estimator of the user's own: the episodes that it sees, and the advantages that it may return. */
import { describe, expect, it } from "vitest";
import type { TokenBatch } from "../../src/domain/Batch.ts";
import {
  type AdvantageEstimator,
  type EpisodeAdvantage,
  type EstimatorEpisode,
  estimateAdvantages,
} from "../../src/learner/advantages/AdvantageEstimator.ts";
import { assignCredit } from "../../src/learner/credit.ts";
import { batchWith } from "../build/batches.ts";
import { algorithmDefaults } from "./model.ts";

/** Two episodes: one of two turns (2 and 1 tokens), one of a single turn of 2 tokens. */
const batch = (placement: TokenBatch["placement"] = "sequence"): TokenBatch =>
  batchWith({
    offsets: Int32Array.of(0, 5, 8),
    mask: Uint8Array.of(0, 1, 1, 0, 1, 0, 1, 1),
    mu: Float32Array.of(0, -1, -2, 0, -3, 0, -4, -5),
    rewards: Float32Array.of(0, 0, 0.25, 0, 0.5, 0, 0, 2),
    groups: Int32Array.of(7, 9),
    placement,
  });

const returning = (advantages: unknown): AdvantageEstimator => ({
  estimate: () => advantages as readonly EpisodeAdvantage[],
});

const seenIn = (given: TokenBatch): readonly EstimatorEpisode[] => {
  let seen: readonly EstimatorEpisode[] = [];
  estimateAdvantages(given, {
    estimate: (episodes) => {
      seen = episodes;
      return episodes.map(() => 0);
    },
  });
  return seen;
};

describe("a custom estimator", () => {
  it("sees groups, scores, and the tokens and log-probabilities of turns", () => {
    const [first, second] = seenIn(batch());
    expect(first).toMatchObject({ group: 7, score: 0.75 });
    expect(first?.turns.map(({ logProbs, tokens }) => [tokens, [...logProbs]])).toEqual([
      [2, [-1, -2]],
      [1, [-3]],
    ]);
    expect(second).toMatchObject({ group: 9, score: 2, turns: [{ tokens: 2 }] });
  });

  it("sees the score at the last turn if turns have no rewards of their own", () => {
    expect(seenIn(batch())[0]?.turns.map(({ reward }) => reward)).toEqual([0, 0.75]);
  });

  it("sees the reward of each turn if they have", () => {
    expect(seenIn(batch("turn"))[0]?.turns.map(({ reward }) => reward)).toEqual([0.25, 0.5]);
  });

  it("sees the turns of an episode of several sequences in order, and one score", () => {
    const split = {
      ...batch(),
      members: Int32Array.of(0, 0),
      groups: Int32Array.of(7, 7),
      sequenceIndex: Int32Array.of(1, 0),
    };
    const [only, ...others] = seenIn({ ...split, placement: "turn" });
    expect(others).toEqual([]);
    expect(only?.score).toBe(2.75);
    expect(only?.turns.map(({ reward }) => reward)).toEqual([2, 0.25, 0.5]);
  });

  it.each<[string, unknown, readonly number[]]>([
    ["an episode", [1, -1], [0, 1, 1, 0, 1, 0, -1, -1]],
    ["each turn", [[1, 2], [3]], [0, 1, 1, 0, 2, 0, 3, 3]],
    ["each token", [[Float64Array.of(1, 2), 3], -1], [0, 1, 2, 0, 3, 0, -1, -1]],
  ])("gives an advantage to %s", (_, advantages, expected) => {
    expect([...estimateAdvantages(batch(), returning(advantages))]).toEqual(expected);
  });

  it.each<[string, unknown, string]>([
    ["no list", undefined, "returned undefined, no list of advantages"],
    ["too few episodes", [1], "returned 1 advantages for 2 episodes"],
    ["too many turns", [[1, 2, 3], 0], "returned 3 advantages for the 2 turns of episode 0"],
    ["too few tokens", [[Float32Array.of(1), 2], 0], "returned 1 advantages for the 2 tokens of turn 0 of episode 0"],
    ["NaN for an episode", [0, Number.NaN], "returned NaN as the advantage of episode 1"],
    ["infinity for a token", [[Float32Array.of(1, Infinity), 2], 0], "Infinity as the advantage of token 1 of turn 0"],
    ["a text", ["1", 0], "returned 1 as the advantage of episode 0; it is to be a finite number"],
  ])("is refused with %s", (_, advantages, message) => {
    expect(() => estimateAdvantages(batch(), returning(advantages))).toThrow(message);
  });

  it("assigns a window's credit: advantages and returns are the estimate", () => {
    const tokens = batch();
    const scores = { values: new Float32Array(8), rewards: tokens.rewards };
    const algorithm = { ...algorithmDefaults, adv_estimator: "custom" } as const;
    const credited = assignCredit(tokens, scores, {
      algorithm,
      lossScaling: "none",
      estimator: returning([0.5, -0.5]),
    });
    expect([...credited.advantages]).toEqual([0, 0.5, 0.5, 0, 0.5, 0, -0.5, -0.5]);
    expect(credited.returns).toEqual(credited.advantages);
  });
});
