import { describe, expect, it } from "vitest";
import { episodeInfo, mergeTurnInfo } from "../../src/domain/Info.ts";

const turns = [
  { action_is_valid: 2, final_score: 4, total_searches: 1 },
  {},
  { action_is_valid: 1, final_score: 20, total_searches: 2 },
  {},
];

describe("what an environment tells in numbers", () => {
  it("is summed and divided by all turns, those without an action too", () => {
    expect(episodeInfo(turns).action_is_valid).toBe(3 / 4);
  });

  it("is the last value said, where it tells how things stand", () => {
    expect(episodeInfo(turns).final_score).toBe(20);
  });

  it("is the sum over the episode, where it is a total", () => {
    expect(episodeInfo(turns).total_searches).toBe(3);
  });

  it("is nothing without turns", () => {
    expect(episodeInfo([])).toEqual({});
  });
});

describe("within a turn", () => {
  it("the last action's value counts, and what only an earlier one said stays", () => {
    const info = mergeTurnInfo(
      { action_is_effective: 1, action_is_valid: 1, moved: 1 },
      { action_is_effective: 0, action_is_valid: 1 },
    );
    expect(info).toEqual({ action_is_effective: 0, action_is_valid: 1, moved: 1 });
  });

  it("raw rewards and totals add up", () => {
    const info = mergeTurnInfo(
      { raw_reward: 4, total_searches: 1, final_score: 4 },
      { raw_reward: 8, total_searches: 1, final_score: 12 },
    );
    expect(info).toEqual({ raw_reward: 12, total_searches: 2, final_score: 12 });
  });
});
