import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { areFeasible } from "../../../../src/tools/simulation/staleness/Deadlines.ts";
import { assertProperty } from "../../../property.ts";

describe("deadlines", () => {
  it("can be met exactly where training the oldest groups first meets them", () => {
    const starts = fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 20 });
    const parameter = fc.integer({ min: 1, max: 4 });
    assertProperty(
      fc.property(
        starts,
        parameter,
        parameter,
        fc.integer({ min: 0, max: 6 }),
        (given, groups, maxStaleness, version) => {
          const oldestFirst = given.toSorted((a, b) => a - b);
          const isMet = oldestFirst.every(
            (start, index) => version + Math.floor(index / groups) <= start + maxStaleness,
          );
          expect(areFeasible(oldestFirst, { groups, maxStaleness, version })).toBe(isMet);
        },
      ),
    );
  });

  it("hold for no group that is already too old, and for none at all", () => {
    const schedule = { groups: 2, maxStaleness: 1, version: 3 };
    expect(areFeasible([1], schedule)).toBe(false);
    expect(areFeasible([2, 2, 3, 3], schedule)).toBe(true);
    expect(areFeasible([2, 2, 2], schedule)).toBe(false);
    expect(areFeasible([], schedule)).toBe(true);
  });
});
