/** The drawing of the line: marks in their trays, slots and queues as shapes, and the histogram of staleness. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TrackedGroup } from "../../../../src/domain/GroupPlaces.ts";
import { queueOf, slotsOf } from "../../../../src/observe/watch/page/line/cells.ts";
import { barsOf, meanOf } from "../../../../src/observe/watch/page/line/histogram.ts";
import { byPlace, fill, lookOf, tally } from "../../../../src/observe/watch/page/line/trays.ts";
import { assertProperty } from "../../../property.ts";

const groupAt = (group: number, verdict?: TrackedGroup["verdict"]): TrackedGroup => ({
  group,
  window: 0,
  place: "rollout",
  since: 0,
  admitted: 0,
  ...(verdict === undefined ? {} : { verdict }),
});
const groups = (count: number): readonly TrackedGroup[] => Array.from({ length: count }, (_, i) => groupAt(i));

describe("a tray", () => {
  const size = fc.integer({ min: 0, max: 400 });

  it("holds every mark, none over another, and counts the rest", () => {
    assertProperty(
      fc.property(size, size, fc.integer({ min: 0, max: 600 }), (width, height, count) => {
        const { hidden, marks } = fill(groups(count), { x: 10, y: 20, width, height });
        expect(marks.length + hidden).toBe(count);
        for (const { size, x, y } of marks) {
          expect(x >= 10 && x + size <= 10 + width && y >= 20 && y + size <= 20 + height).toBe(true);
        }
        expect(new Set(marks.map(({ x, y }) => `${x} ${y}`)).size).toBe(marks.length);
      }),
    );
  });

  it("draws smaller marks before it leaves any out", () => {
    const tray = { x: 0, y: 0, width: 160, height: 50 };
    const few = fill(groups(10), tray);
    const many = fill(groups(200), tray);
    expect(few.marks[0]!.size).toBeGreaterThan(many.marks[0]!.size);
    expect(many.hidden).toBe(0);
    expect(fill(groups(2000), tray).hidden).toBeGreaterThan(0);
  });

  it("is filled in the order of the groups' numbers", () => {
    const { marks } = fill([groupAt(7), groupAt(2)], { x: 0, y: 0, width: 100, height: 20 });
    expect(marks.map(({ group }) => group.group)).toEqual([2, 7]);
  });

  it("shows what became of a group", () => {
    expect(
      [undefined, "kept", "rule", "zero", "failed"].map((verdict) =>
        lookOf(groupAt(1, verdict as TrackedGroup["verdict"])),
      ),
    ).toEqual(["open", "kept", "out", "out", "failed"]);
    expect(tally([groupAt(1), groupAt(2, "kept"), groupAt(3, "zero"), groupAt(4, "rule")])).toEqual({
      open: 1,
      kept: 1,
      out: 2,
      failed: 0,
    });
    expect([...byPlace(groups(3)).keys()]).toEqual(["rollout"]);
  });
});

describe("slots", () => {
  it("are a cell each, busy ones first", () => {
    expect(slotsOf({ concurrency: 4, running: 2, blocked: 1 }, 32).cells).toEqual(["busy", "busy", "blocked", "free"]);
  });

  it("are parts of a bar where there are too many", () => {
    expect(slotsOf({ concurrency: 400, running: 300, blocked: 0 }, 32)).toEqual({
      counts: { busy: 300, blocked: 0, free: 100 },
      cells: null,
    });
  });

  it("still show items at work after the concurrency was lowered below them", () => {
    expect(slotsOf({ concurrency: 1, running: 3, blocked: 0 }, 32).cells).toEqual(["busy", "busy", "busy"]);
  });
});

describe("a queue", () => {
  it("is dots up to a number, and a count of the others", () => {
    expect(queueOf({ capacity: 4, queue: 1 }, 16)).toEqual({ full: 1, empty: 3, more: 0 });
    expect(queueOf({ capacity: 64, queue: 40 }, 16)).toEqual({ full: 16, empty: 0, more: 24 });
  });

  it("of a service shows those that wait alone", () => {
    expect(queueOf({ capacity: 0, queue: 3 }, 16)).toEqual({ full: 3, empty: 0, more: 0 });
  });
});

describe("the histogram of staleness", () => {
  it("has a bar for each value, with its share", () => {
    expect(barsOf([1, 3], 12).map(({ height, share, value }) => [value, share, height])).toEqual([
      [0, 0.25, 1 / 3],
      [1, 0.75, 1],
    ]);
    expect(meanOf([1, 3])).toBe(0.75);
  });

  it("gathers high values in its last bar", () => {
    const bars = barsOf(new Array(30).fill(1), 5);
    expect(bars.map(({ count }) => count)).toEqual([1, 1, 1, 1, 26]);
    expect(bars.map(({ andMore }) => andMore)).toEqual([false, false, false, false, true]);
  });

  it("is empty where nothing was counted", () => {
    expect([barsOf([], 5), barsOf([0, 0], 5), meanOf([0])]).toEqual([[], [], null]);
  });
});
