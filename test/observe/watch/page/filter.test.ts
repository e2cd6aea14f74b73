/** Windows as the filter saw them: ranks, counts, and the place of a window under the pointer. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JudgedGroup } from "../../../../src/domain/Event.ts";
import type { WindowView } from "../../../../src/observe/watch/Api.ts";
import {
  extentOf,
  indexAt,
  indexOfWindow,
  keptShare,
  ranked,
  spanOf,
  tallyOf,
  verdicts,
} from "../../../../src/observe/watch/page/filter/windows.ts";
import { assertProperty } from "../../../property.ts";

const judged = (group: number, verdict: JudgedGroup["verdict"], score?: number): JudgedGroup => ({
  group,
  verdict,
  reward: 0,
  ...(score === undefined ? {} : { score }),
});
const window = (step: number, groups: readonly JudgedGroup[]): WindowView => ({
  window: step - 1,
  step,
  at: step,
  groups,
  cut: null,
});

describe("a window", () => {
  it("ranks its groups by score, failed ones last", () => {
    const groups = [judged(1, "failed"), judged(2, "zero", 0), judged(3, "kept", 2), judged(4, "rule", 1)];
    expect(ranked(groups).map(({ group }) => group)).toEqual([3, 4, 2, 1]);
  });

  it("keeps every group in its ranking", () => {
    const groups = fc.array(
      fc.record({
        group: fc.nat(),
        verdict: fc.constantFrom(...verdicts),
        reward: fc.double(),
        score: fc.double({ noNaN: true }),
      }),
    );
    assertProperty(
      fc.property(groups, (groups) => {
        const numbers = (groups: readonly JudgedGroup[]) => groups.map(({ group }) => group).sort((a, b) => a - b);
        expect(numbers(ranked(groups))).toEqual(numbers(groups));
      }),
    );
  });

  it("has the share of kept groups over all", () => {
    const one = window(1, [judged(1, "failed"), judged(2, "kept", 2)]);
    expect(keptShare(one)).toBe(0.5);
    expect(keptShare(window(1, []))).toBeNull();
    expect(tallyOf([one, one])).toEqual({ kept: 2, surplus: 0, rule: 0, zero: 0, failed: 2, all: 4 });
  });
});

describe("the map of windows", () => {
  const windows = [window(1, []), window(5, [judged(1, "kept", 3), judged(2, "failed")]), window(9, [])];

  it("has room for the largest window and the greatest score, and never none", () => {
    expect(extentOf(windows)).toEqual({ score: 3, groups: 2 });
    expect(extentOf([])).toEqual({ score: 1, groups: 1 });
  });

  it("finds the window under the pointer", () => {
    expect([0, 99, 299, 300, -1].map((x) => indexAt(x, 300, 3))).toEqual([0, 0, 2, null, null]);
    expect(indexAt(0, 300, 0)).toBeNull();
  });

  it("finds a window by its number, or the one before it", () => {
    expect([0, 3, 4, 100, -1].map((number) => indexOfWindow(windows, number))).toEqual([0, 0, 1, 2, 0]);
  });

  it("spans the run or its last windows", () => {
    expect([spanOf(300, null), spanOf(300, 50), spanOf(20, 50)]).toEqual([
      { from: 1, to: 300 },
      { from: 251, to: 300 },
      { from: 1, to: 20 },
    ]);
  });
});
