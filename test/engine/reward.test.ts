/** Rewards of a user's own: where they go, and that an episode without one has failed. */
import { describe, expect, it } from "vitest";
import { type Episode, rewardOf, turnsOf } from "../../src/domain/Episode.ts";
import { rewarded } from "../../src/engine/reward.ts";
import { episodeOfTurns, failed, turnOf } from "../build/episodes.ts";

const episode = episodeOfTurns(3, 0, [turnOf({ reward: 5 }), turnOf({ reward: 7 })]);
const prompt = { group: 3, tag: "T", seed: 3, size: 1, admittedAt: 0 };
const groupOf = (...episodes: readonly Episode[]) => ({ prompt, episodes });
const rewardsOf = (...episodes: readonly Episode[]) => episodes.map((one) => turnsOf(one).map(({ reward }) => reward));

describe("a reward of one's own", () => {
  it("is given at the last turn where it is one number", () => {
    expect(rewardsOf(...rewarded(groupOf(episode), () => 2).episodes)).toEqual([[0, 2]]);
  });

  it("is given turn by turn where it is a list", () => {
    expect(rewardsOf(...rewarded(groupOf(episode), () => [1, -1]).episodes)).toEqual([[1, -1]]);
  });

  it("may be computed from the environment's", () => {
    expect(rewardsOf(...rewarded(groupOf(episode), (one) => rewardOf(one) / 2).episodes)).toEqual([[0, 6]]);
  });

  it("leaves the turns of summaries alone", () => {
    const summary = { turns: [turnOf({ reward: 9 })], summary: { trained: true } };
    const summed: Episode = { ...episode, sequences: [...episode.sequences, summary] };
    const [first] = rewarded(groupOf(summed), () => [1, 2]).episodes;
    expect(first?.sequences.map(({ turns }) => turns.map(({ reward }) => reward))).toEqual([[1, 2], [9]]);
  });

  it.each([
    [
      "a number that is none",
      () => Number.NaN,
      "reward: returned NaN, no number of at most 1e9 and no list of such numbers",
    ],
    ["too few numbers", () => [1], "reward: returned 1 rewards for 2 turns"],
    [
      "an error",
      () => {
        throw new Error("no judge");
      },
      "reward: no judge",
    ],
  ])("fails its episode with %s, and never counts as 0", (_, reward, message) => {
    const other = episodeOfTurns(3, 1, [turnOf({ reward: 1 })]);
    const [first, second] = rewarded(groupOf(episode, other), (one) => (one === episode ? reward() : 4)).episodes;
    expect(first?.outcome).toEqual({ _tag: "Failed", reason: "step_error", message });
    expect(rewardsOf(second!)).toEqual([[4]]);
  });

  it("is not asked of episodes that failed", () => {
    const broken = { ...episode, outcome: failed };
    expect(rewarded(groupOf(broken), () => 1).episodes).toEqual([broken]);
  });
});
