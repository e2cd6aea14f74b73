import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Event } from "../../src/domain/Event.ts";
import type { Group, Window } from "../../src/domain/Group.ts";
import * as WindowAssembler from "../../src/flow/WindowAssembler.ts";
import { failed, won } from "../build/episodes.ts";
import { verdict } from "../build/events.ts";
import { groupOf } from "../build/groups.ts";
import { assertProperty } from "../property.ts";

const group = (id: number, failures = 0): Group =>
  groupOf(
    id,
    [0, 1, 2].map((member) => (member < failures ? failed : won)),
  );

/** Groups come in any order; each was admitted for the window of its number. */
const gather = (order: WindowAssembler.WindowOrder, size: number, groups: readonly Group[]) => {
  let state = WindowAssembler.start(order, size);
  const windows: Window[] = [];
  for (const next of groups) {
    const step = WindowAssembler.addGroup(state, next, Math.floor(next.prompt.group / size));
    state = step.state;
    windows.push(...step.windows);
  }
  return { windows: windows.map(({ index, groups }) => [index, groups.map((g) => g.prompt.group)]), state };
};

describe("the window assembler", () => {
  it("waits for a window's own groups in admission order, and catches up at once", () => {
    const { windows } = gather(
      "admission",
      2,
      [3, 1, 2, 5, 4, 0].map((id) => group(id)),
    );
    expect(windows).toEqual([
      [0, [0, 1]],
      [1, [2, 3]],
      [2, [4, 5]],
    ]);
  });

  it("takes groups as they finish in completion order, each window sorted by group id", () => {
    const { windows, state } = gather(
      "completion",
      2,
      [3, 1, 2, 5, 4].map((id) => group(id)),
    );
    expect(windows).toEqual([
      [0, [1, 3]],
      [1, [2, 5]],
    ]);
    expect(state.waiting.map(({ group }) => group.prompt.group)).toEqual([4]);
  });

  it("makes a window short where a group failed, and empty where all did", () => {
    const groups = [group(0, 2), group(1), group(2, 3), group(3, 2)];
    expect(gather("admission", 2, groups).windows).toEqual([
      [0, [1]],
      [1, []],
    ]);
  });

  it("puts every usable group in exactly one window, whatever the order of completion", () => {
    assertProperty(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.shuffledSubarray([...Array(20).keys()], { minLength: 20 }),
        fc.constantFrom("admission" as const, "completion" as const),
        (size, ids, order) => {
          const { windows, state } = gather(
            order,
            size,
            ids.map((id) => group(id)),
          );
          const placed = windows
            .flatMap(([, members]) => members)
            .concat(state.waiting.map(({ group }) => group.prompt.group));
          expect(placed.sort((a, b) => Number(a) - Number(b))).toEqual([...Array(20).keys()]);
          expect(windows.map(([index]) => index)).toEqual([...windows.keys()]);
        },
      ),
    );
  });
});

const asks = (window: number, groups: number, round = 1): Event => ({
  _tag: "Refill",
  window,
  round,
  groups,
  reason: "",
});

/** Plays groups, as [number, window], and events, and gives the windows that come. */
const play = (order: WindowAssembler.WindowOrder, happenings: readonly (Event | readonly [Group, number])[]) => {
  let state = WindowAssembler.start(order, 2, 0, true);
  const windows: WindowAssembler.AssembledWindow[] = [];
  for (const next of happenings) {
    if ("_tag" in next) {
      state = WindowAssembler.observe(state, next);
      continue;
    }
    const step = WindowAssembler.addGroup(state, ...next);
    state = step.state;
    windows.push(...step.windows);
  }
  return {
    state,
    windows: windows.map(({ groups, index }) => [index, groups.map((g) => g.prompt.group)]),
    last: windows.at(-1),
  };
};

describe("a window that asks for more", () => {
  const first = [[group(0), 0] as const, [group(1), 0] as const];

  it("comes again with all of its groups once the last that it asked for is there", () => {
    const { windows, last } = play("admission", [...first, asks(0, 2), [group(5), 0], [group(4, 2), 0]]);
    expect(windows).toEqual([
      [0, [0, 1]],
      [0, [0, 1, 5]],
    ]);
    expect(last).toMatchObject({ refills: 1, refilled: 2, failed: [{ prompt: { group: 4 } }] });
  });

  it("may ask again, and leaves the groups of other windows to them", () => {
    const { windows, last } = play("admission", [
      ...first,
      asks(0, 1),
      [group(2), 1],
      [group(4), 0],
      [group(3), 1],
      asks(0, 1, 2),
      [group(5), 0],
    ]);
    expect(windows).toEqual([
      [0, [0, 1]],
      [0, [0, 1, 4]],
      [1, [2, 3]],
      [0, [0, 1, 4, 5]],
    ]);
    expect(last).toMatchObject({ refills: 2, refilled: 2 });
  });

  it("takes the next to finish in completion order, whichever they were admitted for", () => {
    const { windows } = play("completion", [...first, [group(2), 1], asks(0, 1), [group(3), 1], [group(4), 0]]);
    expect(windows).toEqual([
      [0, [0, 1]],
      [0, [0, 1, 3]],
      [1, [2, 4]],
    ]);
  });

  it("is held until its verdict, and no longer", () => {
    expect(play("admission", first).state.unjudged).toHaveLength(1);
    expect(play("admission", [...first, verdict(0)]).state.unjudged).toEqual([]);
  });
});
