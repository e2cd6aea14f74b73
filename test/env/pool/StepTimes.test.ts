/** The times of requests set the size of batches and the limits of suspects. */
import { describe, expect, it } from "vitest";
import type { Request } from "../../../src/env/contract/Request.ts";
import { StepTimes } from "../../../src/env/pool/StepTimes.ts";

const step: Request = {
  _tag: "Step",
  step: { tag: "Count", state: null, actions: [], noise: { seed: 0, purpose: "noise", counters: [] } },
};
const reset: Request = {
  _tag: "Reset",
  reset: { tag: "Count", instance: { seed: 0, purpose: "instance", counters: [] }, split: "train" },
};

const taking = (...times: readonly number[]): StepTimes => {
  const stepTimes = new StepTimes();
  for (const ms of times) stepTimes.observe([step], [ms]);
  return stepTimes;
};

describe("step times", () => {
  it("make batches of about 10 ms, of 64 requests at most and one at least", () => {
    expect([taking(), taking(0.01), taking(2.5), taking(40)].map((times) => times.batchCap())).toEqual([64, 64, 4, 1]);
  });

  it("make no smaller batches because of an outlier, and do once requests are slow", () => {
    expect(taking(0.1, 50, 0.1).batchCap()).toBe(64);
    expect(taking(0.1, ...Array<number>(100).fill(5)).batchCap()).toBe(2);
  });

  it("suspect a request after 10 times the mean, 100 ms at least", () => {
    const afterMs = (times: StepTimes) => times.suspectAfterMs([step], true);
    expect([taking(1), taking(20), taking(1_000)].map(afterMs)).toEqual([100, 200, 10_000]);
  });

  it("are patient with a kind they do not know, and with one that was that slow before", () => {
    expect(taking(1).suspectAfterMs([step, reset], false)).toBe(500);
    expect(taking(1, 1, 1, 400, 1, 1).suspectAfterMs([step], false)).toBe(800);
  });

  it("forget the slowest once steps are known to hang", () => {
    expect(taking(1, 1, 1, 400, 1, 1).suspectAfterMs([step], true)).toBeLessThan(400);
  });

  it("learn nothing from requests that were not answered", () => {
    const stepTimes = taking(1);
    stepTimes.observe([step, step], [1]);
    expect(stepTimes.batchCap()).toBe(10);
  });
});
