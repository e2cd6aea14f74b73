import { describe, expect, it } from "vitest";
import { added, ofEpisode } from "../../src/domain/Info.ts";

const turns = [
  { action_is_valid: 2, final_score: 4, total_searches: 1 },
  {},
  { action_is_valid: 1, final_score: 20, total_searches: 2 },
  {},
];

describe("what an environment tells in numbers", () => {
  it("is summed and divided by all turns, those without an action too", () => {
    expect(ofEpisode(turns).action_is_valid).toBe(3 / 4);
  });

  it("is the last value said, where it tells how things stand", () => {
    expect(ofEpisode(turns).final_score).toBe(20);
  });

  it("is the sum over the episode, where it is a total", () => {
    expect(ofEpisode(turns).total_searches).toBe(3);
  });

  it("adds up within a turn, and what stands is replaced", () => {
    const info = added({ action_is_valid: 1, final_score: 4 }, { action_is_valid: 1, final_score: 8 });
    expect(info).toEqual({ action_is_valid: 2, final_score: 8 });
  });

  it("is nothing without turns", () => {
    expect(ofEpisode([])).toEqual({});
  });
});
