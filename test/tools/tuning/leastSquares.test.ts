import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { leastSquares } from "../../../src/tools/tuning/leastSquares.ts";
import { assertProperty } from "../../property.ts";

describe("least squares of parts that are not negative", () => {
  it("finds the factors that equations were made with", () => {
    const factor = fc.double({ min: 0, max: 5, noNaN: true });
    const parts = fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 50 }));
    assertProperty(
      fc.property(fc.tuple(factor, factor), fc.array(parts, { minLength: 6, maxLength: 12 }), ([a, b], rows) => {
        const equations = rows.map((row) => ({ parts: row, value: 0.1 + a * row[0] + b * row[1] }));
        const found = leastSquares(equations, 2);
        expect(found.every((value) => value >= 0)).toBe(true);
        const error = (factors: readonly number[]) =>
          equations.reduce(
            (sum, { parts: [x, y], value }) => sum + ((factors[0]! * x! + factors[1]! * y!) / value - 1) ** 2,
            0,
          );
        expect(error(found)).toBeLessThanOrEqual(error([a, b]) + 1e-9);
      }),
    );
  });

  it("leaves out a part that could only help with a negative factor", () => {
    const equations = [1, 2, 3, 4].map((x) => ({ parts: [x, x * x], value: 3 * x - 0.2 * x * x }));
    const [line, square] = leastSquares(equations, 2);
    expect(line).toBeGreaterThan(2);
    expect(square).toBe(0);
  });

  it("has nothing to say without equations", () => {
    expect(leastSquares([], 2)).toEqual([0, 0]);
  });
});
