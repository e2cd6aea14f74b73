import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bootstrap, clusterBootstrap, mcnemar, successInterval, wilson } from "../../src/domain/intervals.ts";
import { assertProperty } from "../property.ts";

describe("Wilson's interval", () => {
  // R: prop.test(x, n, correct = FALSE)$conf.int
  it.each([
    [8, 10, 0.490_162_5, 0.943_317_8],
    [5, 10, 0.236_593_1, 0.763_406_9],
    [0, 10, 0, 0.277_532_8],
    [10, 10, 0.722_467_2, 1],
    [1, 100, 0.001_767_4, 0.054_486_2],
  ])("of %i in %i is R's", (successes, trials, low, high) => {
    const interval = wilson(successes, trials);
    expect(interval.low).toBeCloseTo(low, 6);
    expect(interval.high).toBeCloseTo(high, 6);
  });

  it("holds the share, within 0 and 1", () => {
    const counts = fc
      .integer({ min: 1, max: 2_000 })
      .chain((n) => fc.tuple(fc.integer({ min: 0, max: n }), fc.constant(n)));
    assertProperty(
      fc.property(counts, ([successes, trials]) => {
        const { high, low, mean } = wilson(successes, trials);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(high).toBeLessThanOrEqual(1);
        expect(low).toBeLessThanOrEqual(mean);
        expect(high).toBeGreaterThanOrEqual(mean);
      }),
    );
  });
});

describe("the bootstrap", () => {
  it("brackets the mean about as widely as the normal approximation does", () => {
    const { high, low, mean } = bootstrap(Array.from({ length: 400 }, (_, i) => (i % 4 === 0 ? 1 : 0)));
    const half = 1.96 * Math.sqrt((0.25 * 0.75) / 400);
    expect(mean).toBe(0.25);
    expect(low).toBeCloseTo(0.25 - half, 1.7);
    expect(high).toBeCloseTo(0.25 + half, 1.7);
  });

  it("is the same each time", () => {
    expect(bootstrap([1, 2, 3, 4])).toEqual(bootstrap([1, 2, 3, 4]));
  });

  it("gives no width to what does not vary", () => {
    expect(bootstrap([2, 2, 2])).toEqual({ mean: 2, low: 2, high: 2 });
  });
});

describe("the cluster bootstrap", () => {
  it("has the mean of all values, each of which counts alike", () => {
    expect(clusterBootstrap([[1, 1, 1], [0]]).mean).toBe(0.75);
  });

  it("is the bootstrap of the means where all instances have as many values", () => {
    const instances = fc.array(fc.tuple(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 8 })), {
      minLength: 1,
      maxLength: 20,
    });
    assertProperty(
      fc.property(instances, (pairs) => {
        expect(clusterBootstrap(pairs)).toEqual(bootstrap(pairs.map(([a, b]) => (a + b) / 2)));
      }),
    );
  });

  it("does not take copies of a value for more instances", () => {
    const once = bootstrap([1, 0, 1, 1, 0]);
    const copied = clusterBootstrap([1, 0, 1, 1, 0].map((value) => Array.from({ length: 100 }, () => value)));
    expect(copied).toEqual(once);
  });
});

describe("the interval of success", () => {
  it("is Wilson's where each instance was played once", () => {
    expect(successInterval([[1], [0], [1]])).toEqual(wilson(2, 3));
  });

  it("is the cluster bootstrap where one was played more than once", () => {
    expect(successInterval([[1], [0, 1]])).toEqual(clusterBootstrap([[1], [0, 1]]));
  });
});

describe("McNemar's exact test", () => {
  it("is the binomial one of the unequal pairs", () => {
    // 2 * P(X <= 1), X of Binomial(9, 1/2), is 20/512.
    expect(mcnemar(1, 8)).toBeCloseTo(20 / 512, 12);
    expect(mcnemar(8, 1)).toBe(mcnemar(1, 8));
    expect(mcnemar(0, 5)).toBeCloseTo(2 / 32, 12);
  });

  it("finds nothing where both are alike", () => {
    expect(mcnemar(0, 0)).toBe(1);
    expect(mcnemar(7, 7)).toBe(1);
  });

  it("takes thousands of pairs", () => {
    expect(mcnemar(1_000, 1_200)).toBeGreaterThan(1e-6);
    expect(mcnemar(1_000, 1_200)).toBeLessThan(1e-4);
    expect(mcnemar(0, 3_000)).toBe(0);
  });
});
