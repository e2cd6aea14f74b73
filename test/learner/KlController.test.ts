import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type KlControl, next } from "../../src/learner/KlController.ts";
import { assertProperty } from "../property.ts";

const adaptive: KlControl = { type: "adaptive", kl_coef: 0.2, target_kl: 6, horizon: 10_000 };

describe("the adaptive coefficient", () => {
  it("moves by the relative error, cut at a fifth, times the share of the horizon", () => {
    expect(next(adaptive, 0.2, { kl: 6.6, sequences: 128 })).toBeCloseTo(0.2 * (1 + 0.1 * 0.0128), 12);
    expect(next(adaptive, 0.2, { kl: 60, sequences: 128 })).toBeCloseTo(0.2 * (1 + 0.2 * 0.0128), 12);
    expect(next(adaptive, 0.2, { kl: 0, sequences: 128 })).toBeCloseTo(0.2 * (1 - 0.2 * 0.0128), 12);
    expect(next(adaptive, 0.2, { kl: 6, sequences: 128 })).toBe(0.2);
  });

  it("stays above 0 and moves towards the target, whatever is measured", () =>
    assertProperty(
      fc.property(
        fc.double({ min: 1e-6, max: 10, noNaN: true }),
        fc.double({ min: -1e9, max: 1e9, noNaN: true }),
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.integer({ min: 1, max: 1_000_000 }),
        (coefficient, kl, sequences, horizon) => {
          const moved = next({ ...adaptive, horizon }, coefficient, { kl, sequences });
          expect(moved).toBeGreaterThan(0);
          if (kl > 6) expect(moved).toBeGreaterThanOrEqual(coefficient);
          else expect(moved).toBeLessThanOrEqual(coefficient);
        },
      ),
    ));

  it("ignores a divergence that is not finite", () => {
    expect(next(adaptive, 0.2, { kl: Number.NaN, sequences: 8 })).toBe(0.2);
  });
});

it("a fixed coefficient does not move", () => {
  expect(next({ ...adaptive, type: "fixed" }, 0.2, { kl: 60, sequences: 10_000 })).toBe(0.2);
});
