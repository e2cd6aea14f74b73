import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cells, count, decimal, duration, percent, sparkline } from "../../../src/observe/sinks/format.ts";
import { assertProperty } from "../../property.ts";

describe("numbers as people read them", () => {
  it.each([
    [0, "0"],
    [312, "312"],
    [999, "999"],
    [1000, "1.00k"],
    [14_200, "14.2k"],
    [999_499, "999k"],
    [999_600, "1.00M"],
    [1.5, "1.50"],
    [Number.NaN, "-"],
  ])("count(%d) is %s", (value, text) => expect(count(value)).toBe(text));

  it.each([
    [0, "0"],
    [0.7421, "0.742"],
    [-1.05, "-1.050"],
    [12.345, "12.35"],
    [4.1e-7, "4.1e-7"],
    [undefined, "-"],
  ])("decimal(%s) is %s", (value, text) => expect(decimal(value)).toBe(text));

  it.each([
    [0, "0ms"],
    [0.03, "<0.1ms"],
    [0.42, "0.42ms"],
    [340, "340ms"],
    [999.6, "1.0s"],
    [12_340, "12.3s"],
    [59_960, "1m00s"],
    [185_000, "3m05s"],
    [3_599_600, "1h00m"],
    [7_620_000, "2h07m"],
    [97_200_000, "1d03h"],
    [Number.NaN, "-"],
  ])("duration(%d) is %s", (ms, text) => expect(duration(ms)).toBe(text));

  it("percent rounds to whole percents", () => expect(percent(0.926)).toBe("93%"));

  it("cells fill the whole bar, each part within one cell of its share", () => {
    const parts = fc.array(fc.double({ min: 0.001, max: 1, noNaN: true }), { minLength: 1, maxLength: 4 });
    assertProperty(
      fc.property(parts, fc.integer({ min: 1, max: 60 }), (raw, width) => {
        const whole = raw.reduce((sum, part) => sum + part, 0);
        const shares = raw.map((part) => part / whole);
        const bar = cells(shares, width);
        expect(bar.reduce((sum, cell) => sum + cell, 0)).toBe(width);
        for (const [i, cell] of bar.entries()) expect(Math.abs(cell - shares[i]! * width)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("a sparkline spans its least and greatest value and skips what is not finite", () => {
    expect(sparkline([0, Number.NaN, 0.5, 1], 10)).toBe("▁▅█");
    expect(sparkline([3, 3], 10)).toBe("▁▁");
    expect(sparkline([1, 2, 3, 4], 2)).toBe("▁█");
    expect(sparkline([], 10)).toBe("");
  });
});
