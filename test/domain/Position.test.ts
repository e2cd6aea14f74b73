import { describe, expect, it } from "vitest";
import type { Event } from "../../src/domain/Event.ts";
import * as Position from "../../src/domain/Position.ts";

const refill = (round: number, groups: number): Event => ({ _tag: "Refill", window: 0, round, groups, reason: "" });
const admitted = (group: number, round: number): Event => ({ _tag: "Admitted", group, window: 0, refill: round });

describe("the position of a run", () => {
  it("still owes the groups of a refill when the window asks again before they are admitted", () => {
    const events = [refill(1, 3), admitted(5, 1), refill(2, 1)];
    const position = events.reduce(Position.observe, Position.start());
    expect(position.asked).toEqual({ window: 0, round: 2, groups: 3, admitted: 0 });
    expect([admitted(6, 2), admitted(7, 2), admitted(8, 2)].reduce(Position.observe, position).asked).toBeNull();
  });
});
