import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Group, Window } from "../../src/domain/Group.ts";
import * as WindowAssembler from "../../src/stage/WindowAssembler.ts";
import { failed, groupOf, won } from "../domain/episodes.ts";
import { assertProperty } from "../property.ts";

const group = (id: number, failures = 0): Group =>
  groupOf(
    id,
    [0, 1, 2].map((member) => (member < failures ? failed : won)),
  );

const gather = (order: WindowAssembler.Order, size: number, groups: readonly Group[]) => {
  let state = WindowAssembler.start(order, size);
  const windows: Window[] = [];
  for (const next of groups) {
    const step = WindowAssembler.observe(state, next);
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
    expect(state.held.map((g) => g.prompt.group)).toEqual([4]);
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
          const placed = windows.flatMap(([, members]) => members).concat(state.held.map((g) => g.prompt.group));
          expect(placed.sort((a, b) => Number(a) - Number(b))).toEqual([...Array(20).keys()]);
          expect(windows.map(([index]) => index)).toEqual([...windows.keys()]);
        },
      ),
    );
  });
});
