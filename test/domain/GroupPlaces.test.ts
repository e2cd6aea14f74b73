import { HashMap, Option } from "effect";
import { describe, expect, it } from "vitest";
import type { Event } from "../../src/domain/Event.ts";
import * as GroupPlaces from "../../src/domain/GroupPlaces.ts";
import { admitted, finished, wayOfTwo } from "../build/events.ts";

/** The groups after events that come 10 milliseconds apart. */
const placesAfter = (events: readonly Event[], from = GroupPlaces.empty): GroupPlaces.GroupPlaces =>
  events.reduce((groups, event, i) => GroupPlaces.observe(groups, event, 10 * (i + 1)), from);

const at = (groups: GroupPlaces.GroupPlaces, group: number) => Option.getOrUndefined(HashMap.get(groups, group));

describe("the places of groups", () => {
  it("follow a group from stage to stage, and tell since when it is there", () => {
    const places = wayOfTwo.map((_, i) => at(placesAfter(wayOfTwo.slice(0, i + 1)), 1));
    expect(places.map((group) => group?.place)).toEqual([
      "rollout",
      "rollout",
      "window",
      "window",
      "score",
      "filter",
      "learn",
      "learn",
      "close",
      undefined,
    ]);
    expect(places[6]).toMatchObject({ since: 70, admitted: 10, verdict: "kept" });
  });

  it("take a window that asks for more through score and filter again, with what its refill asked for", () => {
    const refilled = placesAfter([
      ...wayOfTwo.slice(0, 6),
      { _tag: "Refill", window: 0, round: 1, groups: 1, reason: "" },
      { _tag: "Admitted", group: 5, window: 0, refill: 1 },
      finished(5),
    ]);
    expect([at(refilled, 1)?.place, at(refilled, 5)?.place]).toEqual(["filter", "window"]);
    expect([at(refilled, 1)?.refillOf, at(refilled, 5)?.refillOf]).toEqual([undefined, 0]);
    const again = placesAfter([{ _tag: "Windowed", window: 0, groups: [1, 2, 5] }], refilled);
    expect([1, 2, 5].map((group) => at(again, group)?.place)).toEqual(["score", "score", "score"]);
    const over: Event = { _tag: "StepClosed", step: 1, groups: [1, 2, 5], refilled: 1, seconds: 1 };
    expect(HashMap.size(placesAfter([over], again))).toBe(0);
  });

  it("name the window that took a group, and the one whose refill asked for it, where they differ", () => {
    const events: readonly Event[] = [
      { _tag: "Admitted", group: 5, window: 0, refill: 1 },
      finished(5),
      { _tag: "Windowed", window: 1, groups: [5] },
    ];
    expect(at(placesAfter(events), 5)).toMatchObject({ window: 1, refillOf: 0 });
  });

  it("leave a group of another window where it is", () => {
    const groups = placesAfter([...wayOfTwo.slice(0, 4), admitted(3), finished(3), ...wayOfTwo.slice(4, 9)]);
    expect([at(groups, 1)?.place, at(groups, 3)?.place]).toEqual(["close", "window"]);
  });

  it("keep a failed group with its window, and no group that is dropped", () => {
    expect(at(placesAfter([admitted(1), finished(1, { failed: true })]), 1)).toMatchObject({
      place: "window",
      verdict: "failed",
    });
    const dropped: Event = { _tag: "Dropped", groups: [{ group: 1, tokens: 0 }], reason: "stopped" };
    expect([...HashMap.keys(placesAfter([admitted(1), admitted(2), dropped]))]).toEqual([2]);
  });

  it("are none where a run goes on from a checkpoint", () => {
    expect(HashMap.size(placesAfter([...wayOfTwo.slice(0, 6), { _tag: "Resumed", step: 0 }]))).toBe(0);
  });
});
