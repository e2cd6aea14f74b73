import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bucketsOf, type RatedGroup, ratedGroups } from "../../../src/learner/analysis/buckets.ts";
import { assertProperty } from "../../property.ts";

const rated = (...stds: readonly number[]): readonly RatedGroup[] =>
  stds.map((std, group) => ({ group, std, sequences: [group] }));
const shown = (buckets: ReturnType<typeof bucketsOf>) =>
  buckets.map(({ groups, name }) => [name, groups.map(({ group }) => group)]);

describe("groups of a batch", () => {
  it("are rated by the deviation of their episodes' rewards, over all sequences of an episode", () => {
    // Group 4: episode 0 in two sequences with 1 + 2, episode 1 with 1. Group 9: episodes of 5.
    const groups = ratedGroups({
      offsets: Int32Array.of(0, 2, 4, 5, 7, 8),
      rewards: Float32Array.of(0, 1, 0, 2, 1, 0, 5, 5),
      groups: Int32Array.of(4, 4, 4, 9, 9),
      members: Int32Array.of(0, 0, 1, 0, 1),
    });
    expect(groups).toEqual([
      { group: 4, std: expect.closeTo(Math.SQRT2, 12), sequences: [0, 1, 2] },
      { group: 9, std: 0, sequences: [3, 4] },
    ]);
  });
});

describe("buckets of groups", () => {
  it("hold equally many, the least spread first and the remainder last", () => {
    expect(shown(bucketsOf(rated(3, 1, 2, 0, 5, 4, 6), "quantile", 3))).toEqual([
      ["bucket_1", [3, 1]],
      ["bucket_2", [2, 0]],
      ["bucket_3", [5, 4, 6]],
      ["all", [3, 1, 2, 0, 5, 4, 6]],
    ]);
  });

  it("are fewer where there are fewer groups, and none without any", () => {
    expect(shown(bucketsOf(rated(1, 0), "quantile", 6)).map(([name]) => name)).toEqual(["bucket_1", "bucket_2", "all"]);
    expect(bucketsOf([], "quantile", 6)).toEqual([]);
  });

  it("have RAGEN's edges where they are fixed, and its numbers where some are empty", () => {
    expect(shown(bucketsOf(rated(0, 0.9, 1, 4.5, 80), "fixed_rv", 6))).toEqual([
      ["bucket_1", [0, 1]],
      ["bucket_2", [2]],
      ["bucket_5", [3]],
      ["bucket_6", [4]],
      ["all", [0, 1, 2, 3, 4]],
    ]);
  });

  it("hold every group once, in either mode", () => {
    assertProperty(
      fc.property(
        fc.array(fc.double({ min: 0, max: 9, noNaN: true }), { minLength: 1, maxLength: 30 }),
        fc.constantFrom("quantile" as const, "fixed_rv" as const),
        fc.integer({ min: 1, max: 10 }),
        (stds, mode, count) => {
          const buckets = bucketsOf(rated(...stds), mode, count);
          const parts = buckets.filter(({ name }) => name !== "all").flatMap(({ groups }) => groups);
          expect(parts.map(({ group }) => group).toSorted((a, b) => a - b)).toEqual(stds.map((_, i) => i));
          expect(parts).toEqual(buckets.at(-1)?.groups);
        },
      ),
    );
  });
});
