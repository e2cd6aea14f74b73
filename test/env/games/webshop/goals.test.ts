/** The goal of a seed is the one RAGEN's Python chooses: `random.Random(42).shuffle(list(range(n)))`, then by what is played. */
import { describe, expect, it } from "vitest";
import { goalOf } from "../../../../src/env/games/webshop/goals.ts";

const seeds = [0, 1, 499, 10_000, 10_001, 123];

describe("the goal of a seed", () => {
  it.for([
    [1501, "train", [1309, 1309, 1309, 1309, 1309, 1309]],
    [1501, "val", [992, 205, 815, 992, 205, 55]],
    [1501, "test", [660, 420, 588, 660, 420, 558]],
    [2000, "train", [1776, 536, 1309, 1776, 536, 1138]],
    [2000, "val", [1384, 903, 1488, 1384, 903, 404]],
    [2000, "test", [795, 1468, 1150, 795, 1468, 1031]],
    [6910, "train", [4550, 4132, 2669, 329, 5339, 5412]],
    [6910, "val", [6560, 6031, 3654, 6560, 6031, 5817]],
    [6910, "test", [6684, 875, 3379, 6684, 875, 1345]],
    [12087, "train", [330, 6972, 5011, 10876, 8445, 2120]],
    [12087, "val", [11019, 3096, 9575, 11019, 3096, 1185]],
    [12087, "test", [1866, 10056, 7362, 1866, 10056, 10170]],
  ] as const)("among %i goals of %s is Python's", ([goals, mode, expected]) => {
    expect(seeds.map((seed) => goalOf(goals, mode, seed))).toEqual(expected);
  });

  it("is never trained on where it is validated or tested on", () => {
    const goalsOf = (mode: "train" | "val" | "test") =>
      new Set(Array.from({ length: 2_000 }, (_, seed) => goalOf(2_000, mode, seed)));
    const [train, val, test] = [goalsOf("train"), goalsOf("val"), goalsOf("test")];
    expect([train.size, val.size, test.size]).toEqual([500, 1_000, 500]);
    expect([...train].filter((goal) => val.has(goal) || test.has(goal))).toEqual([]);
    expect([...val].filter((goal) => test.has(goal))).toEqual([]);
  });
});
