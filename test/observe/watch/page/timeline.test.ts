/** The slider: places and moments belong together, steps are gone by one at a time, and marks are thinned. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Mark, Timeline } from "../../../../src/observe/watch/Api.ts";
import { sayingOf, thinned } from "../../../../src/observe/watch/page/timeline/marks.ts";
import { faster, playedTime } from "../../../../src/observe/watch/page/timeline/play.ts";
import { moved, positionAt, scaleOf, stepAt, timeAt } from "../../../../src/observe/watch/page/timeline/scale.ts";
import { assertProperty } from "../../../property.ts";

const timelineOf = (closes: readonly number[], to?: number): Timeline => ({
  from: 1000,
  to: to ?? closes.at(-1) ?? 1000,
  steps: closes.map((at, i) => ({ at, step: i + 1 })),
  marks: [],
});

const timelines: fc.Arbitrary<Timeline> = fc
  .tuple(fc.array(fc.integer({ min: 0, max: 100_000 }), { maxLength: 40 }), fc.integer({ min: 0, max: 9000 }))
  .map(([gaps, more]) => {
    let at = 1000;
    const closes = gaps.map((gap) => (at += gap));
    return timelineOf(closes, at + more);
  });

describe("the scale", () => {
  it("finds the place of the moment of a place", () => {
    assertProperty(
      fc.property(timelines, fc.double({ min: 0, max: 1, noNaN: true }), (timeline, share) => {
        const scale = scaleOf(timeline, null);
        expect(positionAt(scale, timeAt(scale, share * scale.end))).toBeCloseTo(share * scale.end, 3);
      }),
    );
  });

  it("spans the run, whatever is asked", () => {
    assertProperty(
      fc.property(timelines, fc.double({ noNaN: true }), (timeline, value) => {
        const scale = scaleOf(timeline, null);
        const at = timeAt(scale, value);
        expect(at >= timeline.from && at <= Math.max(timeline.to, timeline.from + 1)).toBe(true);
        const position = positionAt(scale, value);
        expect(position >= 0 && position <= scale.end).toBe(true);
      }),
    );
  });

  it("gives a night no more room than a step", () => {
    const scale = scaleOf(timelineOf([2000, 3000, 40_000_000, 40_001_000]), null);
    expect(positionAt(scale, 40_000_000)).toBe(3);
    expect(timeAt(scale, 2.5)).toBe((3000 + 40_000_000) / 2);
  });

  it("grows with what the stream tells", () => {
    const scale = scaleOf(timelineOf([2000, 3000]), { at: 5500, step: 4 });
    expect(stepAt(scale, 5500)).toBe(4);
    expect(timeAt(scale, scale.end)).toBe(5500);
  });

  it("has room for a run that closed no step", () => {
    const scale = scaleOf(timelineOf([]), null);
    expect(scale.end).toBeGreaterThan(0);
    expect(stepAt(scale, 1000)).toBe(0);
  });
});

describe("a key", () => {
  const scale = scaleOf(timelineOf([2000, 3000, 4000]), null);

  it("goes to the next close of a step, from wherever it stands", () => {
    expect(moved(scale, 2000, 1)).toBe(3000);
    expect(moved(scale, 2400, 1)).toBe(3000);
    expect(moved(scale, 2400, -1)).toBe(2000);
    expect(moved(scale, 3000, -1)).toBe(2000);
  });

  it("stops at both ends", () => {
    expect([moved(scale, 2000, -10), moved(scale, 2000, 10)]).toEqual([1000, 4000]);
  });
});

describe("marks", () => {
  const mark = (at: number, kind: Mark["kind"]): Mark => ({ at, step: at / 1000, kind, text: "" });

  it("stand for others of their kind that lie too near", () => {
    const closes = Array.from({ length: 1000 }, (_, i) => 2000 + i * 1000);
    const scale = scaleOf(timelineOf(closes), null);
    const shown = thinned(
      closes.map((at) => mark(at, "validation")),
      scale,
      10,
    );
    expect(shown.length).toBeLessThanOrEqual(11);
    expect(shown.reduce((sum, { count }) => sum + count, 0)).toBe(1000);
    expect(sayingOf(shown[1]!)).toMatch(/^step \d+: validation, and \d+ more$/);
  });

  it("of two kinds do not hide each other", () => {
    const scale = scaleOf(timelineOf([2000, 3000]), null);
    expect(thinned([mark(2000, "validation"), mark(2000, "checkpoint")], scale, 10)).toHaveLength(2);
  });
});

describe("playing", () => {
  it("goes on by real time at its speed, up to the end", () => {
    expect(playedTime(1000, 100, 10, 5000)).toBe(2000);
    expect(playedTime(1000, 100, 60, 5000)).toBeNull();
  });

  it("has three speeds in a circle", () => {
    expect([faster(1), faster(10), faster(60)]).toEqual([10, 60, 1]);
  });
});
