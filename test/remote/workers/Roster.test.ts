import { describe, expect, it } from "vitest";
import type { WorkerGauges } from "../../../src/remote/workers/Messages.ts";
import { Roster } from "../../../src/remote/workers/Roster.ts";

const gauges = (changes: Partial<WorkerGauges> = {}): WorkerGauges => ({
  epoch: "e",
  slots: 8,
  groups: 2,
  version: 3,
  tokensPerSecond: 100,
  playing: 0,
  leases: [],
  leaves: false,
  ...changes,
});

describe("the roster", () => {
  it("counts the workers that are up", () => {
    const roster = new Roster(1_000);
    expect(roster.totals()).toMatchObject({ workers: 0, groups: 0, oldestVersion: undefined });
    expect(roster.report("a", gauges(), 0)).toMatchObject({ worker: "a", to: "Up" });
    expect(roster.report("a", gauges({ version: 4 }), 10)).toBeUndefined();
    roster.report("b", gauges({ groups: 3 }), 20);
    expect(roster.totals()).toMatchObject({ workers: 2, groups: 5, slots: 16, tokensPerSecond: 200, oldestVersion: 3 });
  });

  it("loses a worker that is silent, by the learner's clock, and takes it back when it speaks", () => {
    const roster = new Roster(1_000);
    roster.report("a", gauges(), 0);
    roster.report("b", gauges(), 500);
    expect(roster.nextDeadline).toBe(1_000);
    expect(roster.expire(999)).toEqual([]);
    expect(roster.expire(1_000)).toEqual([{ worker: "a", to: "Lost", why: "nothing was heard of it for 1 s" }]);
    expect(roster.totals().workers).toBe(1);
    expect(roster.nextDeadline).toBe(1_500);
    expect(roster.report("a", gauges(), 1_200)).toMatchObject({ worker: "a", to: "Up" });
    expect(roster.totals().workers).toBe(2);
  });

  it("lets a worker leave", () => {
    const roster = new Roster(1_000);
    roster.report("a", gauges(), 0);
    expect(roster.leave("a")).toEqual({ worker: "a", to: "Lost", why: "it has left" });
    expect(roster.leave("a")).toBeUndefined();
    expect(roster.nextDeadline).toBeUndefined();
  });
});
