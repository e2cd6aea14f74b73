/** Curves: smoothing, several runs on one axis, what is new of one that grows, and the choice of metrics. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Curves, MetricCard } from "../../../../src/observe/watch/Api.ts";
import { align, appended, type Curve, curveOf, type View } from "../../../../src/observe/watch/page/curves/align.ts";
import {
  cardsBy,
  drawnNames,
  groupBySection,
  isSmoothed,
  OTHER,
  sayingOf,
} from "../../../../src/observe/watch/page/curves/choose.ts";
import { bandsOf, dataOf, PER_RUN, rangeOf, seriesOf } from "../../../../src/observe/watch/page/curves/plot.ts";
import { lastOf, smoothed } from "../../../../src/observe/watch/page/curves/smooth.ts";
import { assertProperty } from "../../../property.ts";

const value = fc.double({ min: -1e6, max: 1e6, noNaN: true });
const factor = fc.double({ min: 0, max: 0.99, noNaN: true });

describe("smoothing", () => {
  it("leaves a constant as it is, from its first value on", () => {
    assertProperty(
      fc.property(value, factor, fc.integer({ min: 1, max: 30 }), (constant, factor, length) => {
        for (const smooth of smoothed(new Array(length).fill(constant), factor))
          expect(smooth).toBeCloseTo(constant, 4);
      }),
    );
  });

  it("stays between the least and the greatest value, and keeps gaps", () => {
    assertProperty(
      fc.property(fc.array(fc.option(value)), factor, (values, factor) => {
        const measured = values.filter((value) => value !== null);
        const [low, high] = [Math.min(...measured), Math.max(...measured)];
        const margin = 1e-6 * Math.max(1, Math.abs(low), Math.abs(high));
        for (const [i, smooth] of smoothed(values, factor).entries()) {
          expect(smooth === null).toBe(values[i] === null);
          if (smooth !== null) expect(smooth >= low - margin && smooth <= high + margin).toBe(true);
        }
      }),
    );
  });

  it("of nothing is nothing", () => {
    expect(smoothed([null, null], 0.5)).toEqual([null, null]);
    expect([lastOf([1, null]), lastOf([null])]).toEqual([1, null]);
  });
});

const curves = (steps: readonly number[], values: readonly (number | null)[], name = "a"): Curves => ({
  steps,
  times: steps.map((step) => 10_000 + step * 1000),
  series: [{ name, mean: values, min: values, max: values }],
});
const view: View = { axis: "step", smoothing: 0, until: null, log: false };

describe("a curve", () => {
  it("ends at the moment looked at", () => {
    expect(curveOf(curves([1, 2, 3], [5, 6, 7]), "a", 0, { ...view, until: 12_500 })).toMatchObject({
      x: [1, 2],
      mean: [5, 6],
    });
    expect(curveOf(curves([1, 2], [5, 6]), "a", 0, { ...view, until: 1 })?.x).toEqual([]);
  });

  it("counts time from the start of its run", () => {
    expect(curveOf(curves([1, 2], [5, 6]), "a", 10_000, { ...view, axis: "time" })?.x).toEqual([1, 2]);
  });

  it("on a logarithmic scale has gaps where it is not positive", () => {
    expect(curveOf(curves([1, 2, 3], [0, 6, -1]), "a", 0, { ...view, log: true })?.mean).toEqual([null, 6, null]);
  });

  it("is none of a metric that the run does not have", () => {
    expect(curveOf(curves([1], [1]), "b", 0, view)).toBeNull();
  });
});

describe("several runs on one axis", () => {
  const curve = fc
    .uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 20 })
    .map((x) => x.toSorted((a, b) => a - b))
    .map((x): Curve => ({ x, mean: x, smooth: x, min: x, max: x }));

  it("keep every value at its place", () => {
    assertProperty(
      fc.property(fc.array(fc.option(curve), { maxLength: 4 }), (list) => {
        const aligned = align(list);
        expect(aligned.x).toEqual(aligned.x.toSorted((a, b) => a - b));
        for (const [i, curve] of list.entries()) {
          const row = aligned.curves[i]!.mean;
          const back = aligned.x.filter((_, j) => (row[j] ?? null) !== null);
          expect(back).toEqual(curve?.x ?? []);
          expect(row.filter((value) => value !== null)).toEqual(curve?.mean ?? []);
        }
      }),
    );
  });

  it("are rows of one length for the chart, as many as its series", () => {
    const data = dataOf(align([{ x: [1, 3], mean: [1, 2], smooth: [1, 2], min: [1, 2], max: [1, 2] }, null]));
    expect(data.map((row) => row.length)).toEqual(new Array(1 + 2 * PER_RUN).fill(2));
    expect(seriesOf({ colours: ["#000000", "#ffffff"], band: true, raw: true, theme: "dark" })).toHaveLength(
      data.length,
    );
    expect(bandsOf(["#000000", "#ffffff"], true).map(({ series }) => series)).toEqual([
      [1, 2],
      [5, 6],
    ]);
  });
});

describe("a run that grows", () => {
  it("gets what is new, and nothing twice", () => {
    const grown = appended(curves([1, 2], [5, 6]), curves([2, 3], [6, 7]));
    expect(grown).toEqual(curves([1, 2, 3], [5, 6, 7]));
    expect(appended(grown, curves([3], [7]))).toBe(grown);
  });

  it("has a gap where the new part lacks a metric", () => {
    expect(appended(curves([1], [5]), { ...curves([2], [6]), series: [] }).series[0]?.mean).toEqual([5, null]);
  });
});

it("a validation is not smoothed", () => {
  expect(["val-env/success", "val-env/FrozenLake/success", "train/success"].map(isSmoothed)).toEqual([
    false,
    false,
    true,
  ]);
});

describe("an axis of values", () => {
  it("has room around the curve, even a flat one", () => {
    assertProperty(
      fc.property(value, value, fc.boolean(), (a, b, log) => {
        const [low, high] = log
          ? [Math.abs(a) + 1e-6, Math.abs(a) + Math.abs(b) + 1e-6]
          : [Math.min(a, b), Math.max(a, b)];
        const [from, to] = rangeOf(low, high, { log });
        expect(from).toBeLessThan(to);
      }),
    );
    expect([rangeOf(null, null, { log: false }), rangeOf(null, null, { log: true })]).toEqual([
      [0, 1],
      [0.1, 1],
    ]);
  });

  it("of shares says nothing of values beyond 0 and 1", () => {
    assertProperty(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), (a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const [from, to] = rangeOf(low, high, { log: false, shares: true });
        expect(from).toBeGreaterThanOrEqual(-0.02);
        expect(to).toBeLessThanOrEqual(1.02);
        expect(from).toBeLessThan(to);
        expect([from <= low, to >= high]).toEqual([true, true]);
      }),
    );
  });
});

const card = (name: string, section: string, meaning = ""): MetricCard => ({
  name,
  section,
  unit: "share",
  kind: "share",
  meaning,
});
const cards = [
  card("{split}/{tag}/{info}", "Episodes"),
  card("stage/{stage}/busy", "Stages", "Slot-time in which the stage worked."),
  card("actor/lr", "Learner"),
];

describe("the choice of metrics", () => {
  it("finds the card that says most of a name", () => {
    const cardOf = cardsBy(cards);
    expect(["stage/learn/busy", "train/a/b", "actor/lr", "x"].map((name) => cardOf(name)?.section)).toEqual([
      "Stages",
      "Episodes",
      "Learner",
      undefined,
    ]);
  });

  it("groups names by section and searches in meanings, too", () => {
    const names = ["actor/lr", "stage/learn/busy", "odd"];
    expect(groupBySection(names, cards, "").map(({ section }) => section)).toEqual(["Stages", "Learner", OTHER]);
    expect(groupBySection(names, cards, "WORKED stage").flatMap(({ names }) => names)).toEqual(["stage/learn/busy"]);
    expect(groupBySection(names, cards, "nothing")).toEqual([]);
  });

  it("is the usual ones at first, and the reader's own after", () => {
    const names = ["actor/lr", "actor/entropy", "train/success"];
    expect(drawnNames(null, names)).toEqual(["train/success", "actor/entropy"]);
    expect(drawnNames(["actor/lr", "gone"], names)).toEqual(["actor/lr"]);
    expect(drawnNames([], names)).toEqual([]);
    expect(drawnNames(["gone"], names)).toEqual(["train/success", "actor/entropy"]);
    expect(drawnNames(null, ["x"])).toEqual(["x"]);
  });

  it("says unit and meaning", () => {
    expect(sayingOf(cards[1]!)).toBe("Slot-time in which the stage worked. In share.");
    expect(sayingOf(null)).toBe("Not in the catalogue.");
  });
});
