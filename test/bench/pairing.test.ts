import { describe, expect, it } from "vitest";
import { bootstrap, differences, overRuns } from "../../bench/learning/pairing.ts";

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

  it("brackets the mean about as widely as the normal approximation does", () => {
    const outcomes = Array.from({ length: 400 }, (_, i) => (i % 4 === 0 ? 1 : 0));
    const { mean, low, high } = bootstrap(outcomes);
    const half = 1.96 * Math.sqrt((0.25 * 0.75) / 400);
    expect(mean).toBe(0.25);
    expect(low).toBeCloseTo(0.25 - half, 1.7);
    expect(high).toBeCloseTo(0.25 + half, 1.7);
    expect(high - low).toBeGreaterThan(half);
  });

  it("gives no width to what does not vary", () => {
    expect(bootstrap([1, 1, 1])).toEqual({ mean: 1, low: 1, high: 1 });
  });
});
