import { describe, expect, it } from "vitest";
import { differences, overRuns, percent } from "../../bench/learning/pairing.ts";

describe("paired success", () => {
  it("averages each instance over the seeds, then takes differences instance by instance", () => {
    const before = overRuns([
      [0, 1, 0, 1],
      [0, 0, 0, 1],
    ]);
    const after = overRuns([
      [1, 1, 0, 1],
      [1, 0, 0, 1],
    ]);
    expect(before).toEqual([0, 0.5, 0, 1]);
    expect(differences(before, after)).toEqual([1, 0, 0, 0]);
  });

  it.each([
    [-0.0004, "0.0"],
    [-0.0006, "-0.1"],
    [0.0004, "0.0"],
  ])("writes %d in percent as %s", (share, text) => {
    expect(percent(share)).toBe(text);
  });
});
