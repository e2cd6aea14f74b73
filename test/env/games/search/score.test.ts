/** Scores of answers, worked out by hand, and the rewards they come to. */
import { describe, expect, it } from "vitest";
import { normalised, rewardOf, scoreOf } from "../../../../src/env/games/search/score.ts";

const ragens = { correct_reward: 1, incorrect_reward: 0, f1_threshold: 0.3 };

describe("the normal form", () => {
  it.each([
    ["The Beatles", "beatles"],
    ["  an  APPLE a day\n", "apple day"],
    ["Dr. No!", "dr no"],
    ["U.S.A.", "usa"],
    ["it's", "its"],
    ["well-known", "wellknown"],
    ["1,523 metres", "1523 metres"],
    ["a thesis on another theory", "thesis on another theory"],
    ["Café à la crème", "café à la crème"],
    ["aé thé", "aé thé"],
    ["“quoted”", "“quoted”"],
    ["the a an", ""],
    ["", ""],
  ])("of %j is %j", (text, normal) => {
    expect(normalised(text)).toBe(normal);
  });
});

describe("the score", () => {
  it.each([
    ["The Frostgate.", ["Frostgate"], true, 1],
    ["1523", ["1,523 metres", "1,523"], true, 1],
    // Texts of 2 and 3 words share 2.
    ["Henry Platt", ["Henry Adam Platt"], false, 4 / 5],
    // Texts of 6 words and 1 word share 1 ("the" does not count).
    ["the capital of that island is Frostgate", ["Frostgate"], false, 2 / 7],
    // A word counts as often as it stands on both sides: 1 of 3 and 2.
    ["gull gull gull", ["gull tower"], false, 2 / 5],
    ["gull gull gull", ["gull gull"], false, 4 / 5],
    ["Stonewater", ["Frostgate"], false, 0],
    ["", ["Frostgate"], false, 0],
    // The best of the accepted answers counts.
    ["grey wool", ["wool", "grey sheep wool", "cloth"], false, 4 / 5],
  ])("of %j for %j", (answer, truths, em, f1) => {
    expect(scoreOf(answer, truths).em).toBe(em);
    expect(scoreOf(answer, truths).f1).toBeCloseTo(f1, 12);
  });

  it.each([
    ["Yes.", "yes", true, 1],
    ["yes it is", "yes", false, 0],
    ["no", "yes", false, 0],
    ["yes", "yes and no", false, 0],
    ["noanswer", "noanswer at all", false, 0],
    ["I say no answer", "no", false, 0],
  ])("of %j for %j is all or nothing", (answer, truth, em, f1) => {
    expect(scoreOf(answer, [truth])).toEqual({ em, f1 });
  });
});

describe("the reward", () => {
  it.each([
    [{ em: true, f1: 1 }, 1],
    [{ em: false, f1: 0.8 }, 0.8],
    [{ em: false, f1: 0.3 }, 0.3],
    [{ em: false, f1: 0.29 }, 0],
    [{ em: false, f1: 0 }, 0],
  ])("of %j is %d", (score, reward) => {
    expect(rewardOf(score, ragens)).toBe(reward);
  });

  it("follows its keys", () => {
    const keys = { correct_reward: 2, incorrect_reward: -0.5, f1_threshold: 0.7 };
    expect(rewardOf({ em: true, f1: 1 }, keys)).toBe(2);
    expect(rewardOf({ em: false, f1: 0.75 }, keys)).toBe(1.5);
    expect(rewardOf({ em: false, f1: 0.6 }, keys)).toBe(-0.5);
  });

  it("counts an F1 that lies on the threshold: 3 shared words of 10 and 10", () => {
    const words = (prefix: string) => Array.from({ length: 7 }, (_, index) => `${prefix}${index}`).join(" ");
    const score = scoreOf(`x y z ${words("p")}`, [`x y z ${words("q")}`]);
    expect(rewardOf(score, ragens)).toBeCloseTo(0.3, 12);
  });
});
