/** Numbers as people read them. */
import { describe, expect, it } from "vitest";
import { bytes, count, duration, number, percent } from "../../../../src/observe/watch/page/format.ts";

describe("a number", () => {
  it("is short whatever its size", () => {
    expect([0, 1, 0.12345, 12.345, 1234.5, 12_345, 2.5e6, 3e9, -0.5].map(number)).toEqual([
      "0",
      "1",
      "0.123",
      "12.3",
      "1235",
      "12.3k",
      "2.5M",
      "3G",
      "-0.5",
    ]);
    expect(number(3e-4)).toBe("3.0e-4");
  });

  it("is a dash where nothing was measured", () => {
    expect([null, undefined, Number.NaN].map(number)).toEqual(["–", "–", "–"]);
    expect([percent(null), duration(undefined), bytes(Number.NaN)]).toEqual(["–", "–", "–"]);
  });
});

describe("a share", () => {
  it("is in percent, without the dust of binary fractions", () => {
    expect([0, 0.07, 0.075, 0.5, 1, -0.02].map(percent)).toEqual(["0 %", "7 %", "7.5 %", "50 %", "100 %", "-2 %"]);
  });
});

describe("a duration", () => {
  it("has the units that fit", () => {
    expect([0, 0.04, 2.44, 850, 9_400, 59_000, 200_000, 7_500_000, 3e8].map(duration)).toEqual([
      "0 ms",
      "0.04 ms",
      "2.4 ms",
      "850 ms",
      "9.4 s",
      "59 s",
      "3 m 20 s",
      "2 h 05 m",
      "3 d 11 h",
    ]);
    expect(duration(-1500)).toBe("-1.5 s");
  });
});

it("bytes and counts are in words", () => {
  expect([0, 999, 612e6, 1.2e9].map(bytes)).toEqual(["0 B", "999 B", "612 MB", "1.2 GB"]);
  expect([count(1, "group"), count(1234, "group")]).toEqual(["1 group", "1,234 groups"]);
});
