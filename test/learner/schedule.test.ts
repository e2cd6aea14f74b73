import { expect, it } from "vitest";
import { learningRate } from "../../src/learner/learningRate.ts";

const schedule = { peak: 2, warmup: 4, total: 14, decay: "constant" } as const;

it("warms up linearly from the first update on", () => {
  expect([0, 1, 2, 3, 4, 99].map((update) => learningRate(schedule, update))).toEqual([0.5, 1, 1.5, 2, 2, 2]);
});

it("decays linearly to nothing", () => {
  expect([4, 9, 14, 20].map((update) => learningRate({ ...schedule, decay: "linear" }, update))).toEqual([2, 1, 0, 0]);
});

it("decays along a cosine", () => {
  const rates = [4, 9, 14].map((update) => learningRate({ ...schedule, decay: "cosine" }, update));
  expect(rates[0]).toBe(2);
  expect(rates[1]).toBeCloseTo(1);
  expect(rates[2]).toBeCloseTo(0);
});
