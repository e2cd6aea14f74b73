import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { standardDeviation } from "../../../src/domain/Statistics.ts";
import { keptCount, mostVaried } from "../../../src/selection/filtering/withinGroup.ts";
import { assertProperty } from "../../property.ts";

const spreadOf = (scores: readonly number[], indices: readonly number[]): number =>
  standardDeviation(indices.map((index) => scores[index]!));

const subsets = (values: readonly number[], size: number): number[][] => {
  if (size === 0) return [[]];
  return values.flatMap((first, i) => subsets(values.slice(i + 1), size - 1).map((rest) => [first, ...rest]));
};

describe("within_group", () => {
  it.each<[string, number[], number, number[]]>([
    ["both ends", [0, 5, 4, 9], 2, [0, 3]],
    ["the lonely low one and the high ones", [0, 9, 9, 9], 3, [0, 1, 2]],
    ["the lonely high one and the low ones", [1, 0, 0, 0], 2, [0, 1]],
    ["the first of equal ones", [2, 2, 2], 2, [1, 2]],
    ["one, the highest", [3, 7, 5], 1, [1]],
    ["all of them", [3, 7, 5], 3, [0, 1, 2]],
  ])("keeps %s", (_, scores, k, kept) => {
    expect(spreadOf(scores, mostVaried(scores, k))).toBeCloseTo(spreadOf(scores, kept), 12);
    expect(mostVaried(scores, k)).toHaveLength(kept.length);
  });

  it("has the largest variance of all subsets of its size", () => {
    assertProperty(
      fc.property(
        fc.array(fc.integer({ min: -6, max: 6 }), { minLength: 1, maxLength: 9 }),
        fc.integer({ min: 1, max: 9 }),
        (scores, size) => {
          const k = Math.min(size, scores.length);
          const kept = mostVaried(scores, k);
          expect(new Set(kept).size).toBe(k);
          expect(kept).toEqual(kept.toSorted((a, b) => a - b));
          const all = subsets([...scores.keys()], k);
          expect(spreadOf(scores, kept)).toBeCloseTo(Math.max(...all.map((subset) => spreadOf(scores, subset))), 9);
        },
      ),
    );
  });

  it("rounds its share of a group, halves to even, and keeps at least one", () => {
    expect([keptCount(16, 0.5), keptCount(5, 0.5), keptCount(7, 0.5), keptCount(4, 0.05), keptCount(3, 1)]).toEqual([
      8, 2, 4, 1, 3,
    ]);
  });
});
