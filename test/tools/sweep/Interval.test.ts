/** Intervals of a mean over runs, against tables and their own laws. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { intervalOf, tQuantile } from "../../../src/tools/sweep/Interval.ts";
import { summaryOf } from "../../../src/tools/sweep/summary.ts";
import { assertProperty } from "../../property.ts";

describe("the quantile of Student's t", () => {
  it.each([
    [1, 12.706],
    [2, 4.303],
    [3, 3.182],
    [4, 2.776],
    [5, 2.571],
    [9, 2.262],
    [10, 2.228],
    [29, 2.045],
    [120, 1.98],
  ])("with %d degrees of freedom is %f", (df, expected) => {
    expect(tQuantile(df)).toBeCloseTo(expected, 3);
  });
});

describe("an interval", () => {
  it("by t is the mean and its standard error times the quantile", () => {
    const { high, low, mean, values } = intervalOf("t", [0.8, 0.9, 1]);
    expect([mean, values]).toEqual([expect.closeTo(0.9, 12), 3]);
    expect(high! - mean).toBeCloseTo((4.3027 * 0.1) / Math.sqrt(3), 4);
    expect(mean - low!).toBeCloseTo(high! - mean, 12);
  });

  it("of one value has no ends", () => {
    for (const kind of ["t", "bootstrap"] as const) {
      expect(intervalOf(kind, [3])).toEqual({ mean: 3, values: 1, low: null, high: null });
    }
  });

  it("by the bootstrap lies within the values, holds their mean, and is the same each time", () => {
    assertProperty(
      fc.property(fc.array(fc.double({ min: -10, max: 10, noNaN: true }), { minLength: 2, maxLength: 6 }), (values) => {
        const { high, low, mean } = intervalOf("bootstrap", values);
        expect(low!).toBeGreaterThanOrEqual(Math.min(...values) - 1e-9);
        expect(high!).toBeLessThanOrEqual(Math.max(...values) + 1e-9);
        expect(mean).toBeGreaterThanOrEqual(low! - 1e-9);
        expect(mean).toBeLessThanOrEqual(high! + 1e-9);
        expect(intervalOf("bootstrap", values)).toEqual({ mean, values: values.length, low, high });
      }),
      { numRuns: 10 },
    );
  });

  it("by the bootstrap of two values spans them", () => {
    expect(intervalOf("bootstrap", [0, 1])).toMatchObject({ low: 0, high: 1 });
  });
});

describe("of a curve", () => {
  const curve = [
    { step: 0, value: 1 },
    { step: 10, value: 3 },
    { step: 20, value: 0 },
  ];

  it("the last, the greatest and the least value are taken, and the mean over the steps", () => {
    expect(summaryOf("last", curve)).toBe(0);
    expect(summaryOf("best", curve)).toBe(3);
    expect(summaryOf("least", curve)).toBe(0);
    expect(summaryOf("area", curve)).toBe((20 + 15) / 20);
  });

  it("of one value all are that value, and of none there is nothing", () => {
    for (const name of ["last", "best", "least", "area"] as const) {
      expect(summaryOf(name, [{ step: 5, value: 7 }])).toBe(7);
      expect(summaryOf(name, [])).toBeUndefined();
    }
  });
});
