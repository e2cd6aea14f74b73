import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as Histogram from "../../../../src/observe/sinks/tensorboard/Histogram.ts";
import { assertProperty } from "../../../property.ts";

const weighted = fc.array(
  fc.tuple(
    fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }), fc.integer({ min: -9, max: 9 })),
    fc.integer({ min: 1, max: 100 }),
  ),
  { minLength: 1 },
);

describe("a histogram", () => {
  it("holds every value once, in a bucket that reaches it", () => {
    assertProperty(
      fc.property(weighted, (values) => {
        const found = Histogram.ofWeighted(values);
        if (found === null) return false;
        const total = values.reduce((sum, [, count]) => sum + count, 0);
        expect(found.count).toBe(total);
        expect(found.counts.reduce((sum, count) => sum + count, 0)).toBe(total);
        found.limits.forEach((limit, i) => {
          const upTo = found.counts.slice(0, i + 1).reduce((sum, count) => sum + count, 0);
          expect(upTo).toBe(values.reduce((sum, [value, count]) => sum + (value <= limit ? count : 0), 0));
        });
        return found.limits.every((limit, i) => i === 0 || limit > found.limits[i - 1]!);
      }),
    );
  });

  it("gives each of few integers a bucket of its own", () => {
    const found = Histogram.ofWeighted([
      [0, 5],
      [2, 3],
      [1, 2],
    ]);
    expect(found).toMatchObject({ min: 0, max: 2, count: 10, sum: 8, sumOfSquares: 14 });
    expect(found?.counts).toEqual([5, 2, 3]);
    expect(found?.limits).toEqual([0.5, 1.5, 2.5]);
  });

  it("has ascending ends between neighbouring numbers, too", () => {
    const found = Histogram.ofValues([0, Number.MIN_VALUE]);
    expect(found?.limits).toEqual([0, Number.MIN_VALUE]);
    expect(found?.counts).toEqual([1, 1]);
  });

  it("is absent where nothing finite was measured", () => {
    expect(Histogram.ofValues([Number.NaN, Number.POSITIVE_INFINITY])).toBeNull();
    expect(Histogram.ofValues([])).toBeNull();
  });
});
