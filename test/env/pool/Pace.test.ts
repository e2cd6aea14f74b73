/** What the pool learns of the time that requests take. */
import { describe, expect, it } from "vitest";
import type { Request } from "../../../src/env/contract/Request.ts";
import { Pace } from "../../../src/env/pool/Pace.ts";

const step: Request = {
  _tag: "Step",
  step: { tag: "Count", state: null, actions: [], noise: { seed: 0, purpose: "noise", counters: [] } },
};
const reset: Request = {
  _tag: "Reset",
  reset: { tag: "Count", instance: { seed: 0, purpose: "instance", counters: [] }, split: "train" },
};

const taking = (...times: readonly number[]): Pace => {
  const pace = new Pace();
  for (const ms of times) pace.observe([step], [ms]);
  return pace;
};

describe("the pace", () => {
  it("makes batches of about 10 ms, of 64 requests at most and one at least", () => {
    expect([taking(), taking(0.01), taking(2.5), taking(40)].map((pace) => pace.cap())).toEqual([64, 64, 4, 1]);
  });

  it("makes no smaller batches because of an outlier, and does once requests are slow", () => {
    expect(taking(0.1, 50, 0.1).cap()).toBe(64);
    expect(taking(0.1, ...Array<number>(100).fill(5)).cap()).toBe(2);
  });

  it("suspects a request after 20 times the mean, 100 ms at least, the time limit at most", () => {
    const afterMs = (pace: Pace) => pace.stuckAfterMs([step], 5_000, false);
    expect([taking(1), taking(10), taking(1_000)].map(afterMs)).toEqual([100, 200, 5_000]);
  });

  it("is patient with a kind it does not know, and with one that was that slow before", () => {
    expect(taking(1).stuckAfterMs([step, reset], 5_000, false)).toBe(500);
    expect(taking(1, 1, 1, 400, 1, 1).stuckAfterMs([step], 5_000, false)).toBe(800);
  });

  it("is less patient once requests are known to hang", () => {
    expect(taking(20).stuckAfterMs([step], 5_000, true)).toBe(200);
    expect(taking(1, 1, 1, 400, 1, 1).stuckAfterMs([step], 5_000, true)).toBeLessThan(400);
  });

  it("lets a thread give way after 10 times the slowest, 500 ms at least", () => {
    expect([taking(1), taking(1, 200, 1)].map((pace) => pace.yieldAfterMs(step))).toEqual([500, 2_000]);
  });

  it("finds three times the mean ample, and nothing of a kind it does not know", () => {
    expect([taking(), taking(1)].map((pace) => pace.amplyMs(step))).toEqual([Number.POSITIVE_INFINITY, 3]);
  });

  it("learns nothing of a request that was not answered", () => {
    const pace = taking(1);
    pace.observe([step, step], [null, 1]);
    expect([pace.cap(), pace.stuckAfterMs([step], 5_000, false)]).toEqual([10, 100]);
  });
});
