import { describe, expect, it } from "vitest";
import { isOn, nextRefill, withoutSurplus } from "../../../src/selection/filtering/refill.ts";

const rule = { target: 8, rounds: 2, batch: 0 };

describe("a window's refill", () => {
  it("asks for what is missing, with its reason", () => {
    expect(nextRefill(rule, 0, 3, 8)).toEqual({ groups: 5, reason: "the filter kept 3 of 8 groups, 5 short of 8" });
    expect(nextRefill(rule, 1, 6, 13)?.groups).toBe(2);
  });

  it("asks for batches of one size where the run file says so", () => {
    expect(nextRefill({ ...rule, batch: 16 }, 0, 7, 8)?.groups).toBe(16);
  });

  it("asks no more once it has enough, or has asked often enough", () => {
    expect([nextRefill(rule, 0, 8, 8), nextRefill(rule, 0, 9, 12), nextRefill(rule, 2, 0, 20)]).toEqual([
      null,
      null,
      null,
    ]);
  });

  it("asks never, and leaves all that are kept, where it is off", () => {
    const off = { ...rule, target: 0 };
    expect([isOn(off), isOn(rule), nextRefill(off, 0, 0, 8), withoutSurplus(off, [1, 2])]).toEqual([
      false,
      true,
      null,
      [1, 2],
    ]);
  });
});
