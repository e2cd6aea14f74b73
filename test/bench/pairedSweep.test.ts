/** The table of a sweep's paired differences, over records that are made up. */
import { describe, expect, it } from "vitest";
import { type PairedRun, pairedRows } from "../../bench/learning/paired.ts";

/** A run of five instances: its validations before training, halfway and at the end. */
const run = (seed: number, halfway: string, end: string): PairedRun => ({
  seed,
  seconds: 60 * (seed + 1),
  validations: [
    { step: 0, success: "00000" },
    { step: 10, success: halfway },
    { step: 20, success: end },
  ],
});

const cellsOf = (points: Readonly<Record<string, readonly PairedRun[]>>) => {
  const [head = [], ...rows] = pairedRows(new Map(Object.entries(points)));
  return rows.map((cells) => cells.map((cell, column) => [head[column], cell] as const));
};

/** The column's cells, the point first. */
const column = (points: Readonly<Record<string, readonly PairedRun[]>>, title: string) =>
  cellsOf(points).map((cells) => [cells[0]?.[1], cells.find(([head]) => head === title)?.[1]]);

describe("the paired differences of a sweep", () => {
  it("compares a point with the first on the instances of the seeds that both have", () => {
    const points = {
      none: [run(0, "00000", "11000"), run(1, "00000", "11000"), run(2, "11111", "11111")],
      lever: [run(0, "00000", "11100"), run(1, "00000", "11110")],
    };
    expect(column(points, "end %")).toEqual([
      ["none", expect.stringMatching(/^60\.0 \[/)],
      ["lever", expect.stringMatching(/^70\.0 \[/)],
    ]);
    expect(column(points, "difference, points")).toEqual([
      ["none", ""],
      ["lever", expect.stringMatching(/^30\.0 \[/)],
    ]);
    expect(column(points, "seeds")).toEqual([
      ["none", "0, 1, 2"],
      ["lever", "0, 1"],
    ]);
  });

  it("gives an interval without width where every instance gains the same", () => {
    const points = { none: [run(0, "00000", "00000")], lever: [run(0, "00000", "11111")] };
    expect(column(points, "difference, points")[1]).toEqual(["lever", "100.0 [100.0, 100.0]"]);
  });

  it("averages over the run without the validation of the starting weights", () => {
    const points = { none: [run(0, "10000", "11100")] };
    expect(column(points, "over the run %")[0]?.[1]).toMatch(/^40\.0 \[/);
  });

  it("gives each seed's end and the mean minutes", () => {
    const points = { none: [run(0, "00000", "10000"), run(1, "00000", "11000")] };
    expect(column(points, "each seed")).toEqual([["none", "20.0, 40.0"]]);
    expect(column(points, "minutes")).toEqual([["none", "1.5"]]);
  });

  it("leaves out points without a run, and the difference where no seed is in both", () => {
    const points = { none: [run(0, "00000", "11000")], empty: [], other: [run(1, "00000", "11100")] };
    expect(column(points, "difference, points")).toEqual([
      ["none", ""],
      ["other", ""],
    ]);
  });
});
