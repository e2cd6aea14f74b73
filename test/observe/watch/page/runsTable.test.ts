/** The table of runs: its columns, the order of its rows, and what is found in it. */
import { describe, expect, it } from "vitest";
import type { RunCard } from "../../../../src/observe/watch/Api.ts";
import {
  found,
  ordered,
  type RunRow,
  resultColumns,
  settingColumns,
  sorted,
} from "../../../../src/observe/watch/page/runs/table.ts";

const row = (name: string, last: number | null, settings: RunRow["settings"] = {}): RunRow => {
  const run: RunCard = {
    id: `${name}/1`,
    name,
    stamp: "1",
    state: "completed",
    message: null,
    mode: "sync",
    maxStaleness: 0,
    seed: 0,
    step: 1,
    steps: 1,
    started: 0,
    last: 0,
    controllable: false,
  };
  const validation = (success: number) => ({
    step: 1,
    success,
    interval: null,
    instances: null,
    episodes: null,
    failed: 0,
  });
  const summary = {
    kind: "training" as const,
    steps: { done: 1, planned: 1 },
    minutes: 1,
    validation: { before: null, best: null, last: last === null ? null : validation(last) },
    failedShare: null,
    checkpoint: { newest: null, best: null },
    folder: "",
  };
  return { run, summary, settings };
};

const namesOf = (rows: readonly RunRow[]): readonly string[] => rows.map(({ run }) => run.name);
const lastColumn = resultColumns.find(({ key }) => key === "last")!;

describe("the table of runs", () => {
  const rows = [row("a", 0.2), row("b", null), row("c", 0.9), row("d", 0.5)];

  it("is sorted either way, and what was not measured comes last", () => {
    expect(namesOf(sorted(rows, lastColumn, true))).toEqual(["c", "d", "a", "b"]);
    expect(namesOf(sorted(rows, lastColumn, false))).toEqual(["a", "d", "c", "b"]);
  });

  it("begins with the greatest number or the first text, and is turned by a second click", () => {
    const byLast = ordered({ key: "started", isDescending: true }, lastColumn);
    expect([byLast, ordered(byLast, lastColumn)]).toEqual([
      { key: "last", isDescending: true },
      { key: "last", isDescending: false },
    ]);
    expect(ordered(byLast, resultColumns[0]!)).toEqual({ key: "run", isDescending: false });
  });

  it("has a column for each way in which the configuration divides the listed runs, and repeats of one behind", () => {
    const settings = [
      { lr: "1e-4", mode: "sync", same: "1", staleness: "0" },
      { lr: "1e-5", mode: "sync", same: "1", staleness: "0" },
      { lr: "1e-4", mode: "async", same: "1", staleness: "2" },
    ];
    const columns = settingColumns(settings.map((settings, i) => row(String(i), null, settings)));
    expect(columns.map(({ isNumber, title }) => [title, isNumber])).toEqual([
      ["lr", true],
      ["mode", false],
      ["staleness", true],
    ]);
    expect(settingColumns(settings.slice(0, 2).map((settings, i) => row(String(i), null, settings)))).toHaveLength(1);
  });

  it("sorts numbers of the configuration as numbers", () => {
    const rows = ["1e-4", "0.01", "3e-4"].map((lr) => row(lr, null, { lr }));
    expect(namesOf(sorted(rows, settingColumns(rows)[0]!, false))).toEqual(["1e-4", "3e-4", "0.01"]);
  });

  it("is searched by every word in names, states and settings", () => {
    const rows = [row("lake", null, { lr: "1e-4" }), row("sokoban", null, { lr: "1e-4" }), row("lake", null)];
    expect(found(rows, "LAKE lr=1e-4")).toEqual([rows[0]]);
    expect(found(rows, "")).toHaveLength(3);
  });
});
