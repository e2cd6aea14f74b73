/** Faults of instances, without threads. */
import { describe, expect, it } from "vitest";
import type { Request } from "../../../src/env/contract/Request.ts";
import { FaultCounts } from "../../../src/env/pool/FaultCounts.ts";

const stepOf = (instance?: string, tag = "Count"): Request => ({
  _tag: "Step",
  step: {
    tag,
    state: null,
    actions: [],
    noise: { seed: 0, purpose: "noise", counters: [] },
    ...(instance === undefined ? {} : { instance }),
  },
});

const fault = (counts: FaultCounts, request: Request, times: number): void => {
  for (let n = 0; n < times; n++) {
    counts.trialBegan(request);
    counts.trialEnded(request, "guilty");
  }
};

describe("the fault counts", () => {
  it("quarantines an instance after its second fault, and no other instance or preset", () => {
    const counts = new FaultCounts(2);
    fault(counts, stepOf("a"), 1);
    expect(counts.status(stepOf("a"))._tag).toBe("Free");
    fault(counts, stepOf("a"), 1);
    expect(counts.status(stepOf("a"))).toEqual({ _tag: "Quarantined", faults: 2 });
    expect([stepOf("b"), stepOf("a", "Other"), stepOf()].map((step) => counts.status(step)._tag)).toEqual(
      Array(3).fill("Free"),
    );
    expect(counts.quarantined()).toBe(1);
  });

  it("holds an instance while its suspects could be enough, until one of their trials ends", () => {
    const counts = new FaultCounts(2);
    counts.trialBegan(stepOf("a"));
    expect(counts.status(stepOf("a"))._tag).toBe("Free");
    counts.trialBegan(stepOf("a"));
    expect(counts.status(stepOf("a"))._tag).toBe("Held");
    counts.trialEnded(stepOf("a"), "innocent");
    expect(counts.status(stepOf("a"))._tag).toBe("Free");
    counts.trialEnded(stepOf("a"), "guilty");
    counts.trialBegan(stepOf("a"));
    expect(counts.status(stepOf("a"))._tag).toBe("Held");
    counts.trialEnded(stepOf("a"), "guilty");
    expect(counts.status(stepOf("a"))._tag).toBe("Quarantined");
  });

  it("holds no instance without a limit, nor against steps that name no instance", () => {
    const lenient = new FaultCounts(0);
    fault(lenient, stepOf("a"), 5);
    expect(lenient.status(stepOf("a"))._tag).toBe("Free");
    const counts = new FaultCounts(1);
    fault(counts, stepOf(), 5);
    expect(counts.status(stepOf())._tag).toBe("Free");
  });

  it("forgets the instances whose trials ended first, so that it does not grow without an end", () => {
    const counts = new FaultCounts(1);
    for (let n = 0; n <= 10_000; n++) fault(counts, stepOf(`${n}`), 1);
    expect([0, 1, 10_000].map((n) => counts.status(stepOf(`${n}`))._tag)).toEqual([
      "Free",
      "Quarantined",
      "Quarantined",
    ]);
  });
});
