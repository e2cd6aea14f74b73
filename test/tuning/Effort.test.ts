import { describe, expect, it } from "vitest";
import { confirmation } from "../../src/tuning/Effort.ts";

describe("what a budget is spent on", () => {
  it("runs every candidate several times where there is time", () => {
    expect(confirmation(600_000, 3, 1_000, 5_000)).toEqual({ candidates: 3, rounds: 3, windows: 12 });
  });

  it("runs fewer candidates where there is not, and one at least", () => {
    expect(confirmation(30_000, 3, 1_000, 5_000).candidates).toBe(2);
    expect(confirmation(0, 3, 1_000, 5_000)).toEqual({ candidates: 1, rounds: 1, windows: 4 });
  });

  it("takes no longer than what is left", () => {
    for (const left of [40_000, 100_000, 333_000]) {
      const { candidates, rounds, windows } = confirmation(left, 3, 1_500, 6_000);
      expect((candidates + 1) * rounds * (6_000 + windows * 1_500)).toBeLessThanOrEqual(left);
    }
  });
});
