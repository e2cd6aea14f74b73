import { describe, expect, it } from "vitest";
import type { Gauges } from "../../../src/remote/workers/Messages.ts";
import { Roster } from "../../../src/remote/workers/Roster.ts";

const gauges = (changes: Partial<Gauges> = {}): Gauges => ({
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
    expect(roster.totals()).toMatchObject({ workers: 0, groups: 0, oldest: undefined });
    expect(roster.heard("a", gauges(), 0)).toMatchObject({ worker: "a", to: "Up" });
    expect(roster.heard("a", gauges({ version: 4 }), 10)).toBeUndefined();
    roster.heard("b", gauges({ groups: 3 }), 20);
    expect(roster.totals()).toMatchObject({ workers: 2, groups: 5, slots: 16, tokensPerSecond: 200, oldest: 3 });
  });

  it("loses a worker that is silent, by the learner's clock, and takes it back when it speaks", () => {
    const roster = new Roster(1_000);
    roster.heard("a", gauges(), 0);
    roster.heard("b", gauges(), 500);
    expect(roster.deadline).toBe(1_000);
    expect(roster.silent(999)).toEqual([]);
    expect(roster.silent(1_000)).toEqual([{ worker: "a", to: "Lost", why: "nothing was heard of it for 1 s" }]);
    expect(roster.totals().workers).toBe(1);
    expect(roster.deadline).toBe(1_500);
    expect(roster.heard("a", gauges(), 1_200)).toMatchObject({ worker: "a", to: "Up" });
    expect(roster.totals().workers).toBe(2);
  });

  it("lets a worker leave", () => {
    const roster = new Roster(1_000);
    roster.heard("a", gauges(), 0);
    expect(roster.left("a")).toEqual({ worker: "a", to: "Lost", why: "it has left" });
    expect(roster.left("a")).toBeUndefined();
    expect(roster.deadline).toBeUndefined();
  });
});
