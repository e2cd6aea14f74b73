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
    counts.beginTrial(request);
    counts.endTrial(request, "guilty");
  }
};

describe("the fault counts", () => {
  it("quarantines an instance after its second fault, and no other instance or preset", () => {
    const counts = new FaultCounts(2);
    fault(counts, stepOf("a"), 1);
    expect(counts.statusOf(stepOf("a"))._tag).toBe("Free");
    fault(counts, stepOf("a"), 1);
    expect(counts.statusOf(stepOf("a"))).toEqual({ _tag: "Quarantined", faults: 2 });
    expect([stepOf("b"), stepOf("a", "Other"), stepOf()].map((step) => counts.statusOf(step)._tag)).toEqual(
      Array(3).fill("Free"),
    );
    expect(counts.quarantined()).toBe(1);
  });

  it("holds an instance while its suspects could be enough, until one of their trials ends", () => {
    const counts = new FaultCounts(2);
    counts.beginTrial(stepOf("a"));
    expect(counts.statusOf(stepOf("a"))._tag).toBe("Free");
    counts.beginTrial(stepOf("a"));
    expect(counts.statusOf(stepOf("a"))._tag).toBe("Blocked");
    counts.endTrial(stepOf("a"), "innocent");
    expect(counts.statusOf(stepOf("a"))._tag).toBe("Free");
    counts.endTrial(stepOf("a"), "guilty");
    counts.beginTrial(stepOf("a"));
    expect(counts.statusOf(stepOf("a"))._tag).toBe("Blocked");
    counts.endTrial(stepOf("a"), "guilty");
    expect(counts.statusOf(stepOf("a"))._tag).toBe("Quarantined");
  });

  it("holds no instance without a limit, nor against steps that name no instance", () => {
    const lenient = new FaultCounts(0);
    fault(lenient, stepOf("a"), 5);
    expect(lenient.statusOf(stepOf("a"))._tag).toBe("Free");
    const counts = new FaultCounts(1);
    fault(counts, stepOf(), 5);
    expect(counts.statusOf(stepOf())._tag).toBe("Free");
  });

  it("forgets the instances whose trials ended first, so that it does not grow without an end", () => {
    const counts = new FaultCounts(1);
    for (let n = 0; n <= 10_000; n++) fault(counts, stepOf(`${n}`), 1);
    expect([0, 1, 10_000].map((n) => counts.statusOf(stepOf(`${n}`))._tag)).toEqual([
      "Free",
      "Quarantined",
      "Quarantined",
    ]);
  });
});
