import { describe, expect, it } from "vitest";
import { pythonFloat, pythonReward } from "../../src/rollout/pythonNumber.ts";

describe("pythonFloat", () => {
  it.each([
    [-0.2, "-0.2"],
    [10.8, "10.8"],
    [1, "1.0"],
    [0, "0.0"],
    [-0, "-0.0"],
    [0.1 + 0.2, "0.30000000000000004"],
    [-0.1 - 0.1 - 0.1, "-0.30000000000000004"],
    [1e15, "1000000000000000.0"],
    [1e16, "1e+16"],
    [1.5e-7, "1.5e-07"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [1e100, "1e+100"],
    [Number.POSITIVE_INFINITY, "inf"],
  ])("prints %d as Python does", (value, text) => {
    expect(pythonFloat(value)).toBe(text);
  });

  it("prints the sum of no rewards as an integer", () => {
    expect(pythonReward(0, 0, false)).toBe("0");
    expect(pythonReward(0, 1, false)).toBe("0.0");
  });

  it("prints whole rewards as integers", () => {
    expect([0, -0, 1, 12].map((sum) => pythonReward(sum, 2, true))).toEqual(["0", "0", "1", "12"]);
    expect(pythonReward(1, 1, false)).toBe("1.0");
  });
});
