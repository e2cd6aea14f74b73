import { describe, expect, it } from "vitest";
import type { EpisodeRecord, TurnRecord } from "../../../../src/domain/EpisodeRecord.ts";
import { LONGEST_PLAIN } from "../../../../src/observe/sinks/transcript.ts";
import { columnsOf, rowsIn, rowsOf, tableFile } from "../../../../src/observe/sinks/wandb/Table.ts";
import { NEWEST, Tables } from "../../../../src/observe/sinks/wandb/Tables.ts";
import { turnRecord } from "../../../build/records.ts";
import { episode } from "./support.ts";

const turn = (ids: readonly number[]): TurnRecord => turnRecord([], { ids, actions: [] });

const shown = (record: readonly EpisodeRecord[]) => {
  const columns = columnsOf(record[0]!.split);
  return rowsOf(record).map((row) => Object.fromEntries(row.map((cell, at) => [columns[at], cell])));
};

describe("a row", () => {
  it("is an episode: its token sequences are one, in their order", () => {
    const second = episode("val", 3, 0, {
      sequence: 1,
      turns: [turn([4])],
      messages: [{ role: "user", content: "then" }],
      final: "at last",
    });
    const first = episode("val", 3, 0, { turns: [turn([1, 2]), turn([3])] });
    expect(shown([second, first])).toEqual([
      {
        step: 3,
        tag: "Bandit",
        seed: 1003,
        group: 3,
        member: 0,
        success: true,
        reward: 1,
        penalty: 0,
        turns: 3,
        tokens: 4,
        outcome: "done",
        transcript: "[user]\npull\n\n[assistant]\n<answer>A</answer>\n\n[user]\nthen\n\n[state at the end]\nat last",
      },
    ]);
  });

  it("of training has the verdict and the score, and says why it ended early", () => {
    const cut = episode("train", 3, 0, {
      verdict: "rule",
      score: Number.NaN,
      outcome: { _tag: "Failed", reason: "step_error", message: "x" },
    });
    expect(shown([cut])[0]).toMatchObject({ verdict: "rule", score: null, outcome: "failed: step_error" });
  });

  it("counts the calls of an agent that are trained, and the tokens of all", () => {
    const trained = episode("val", 3, 0, { turns: [turn([1, 2]), turn([3])] });
    const discarded = episode("val", 3, 0, { sequence: 1, discarded: true, turns: [turn([4])] });
    expect(shown([trained, discarded])[0]).toMatchObject({ turns: 2, tokens: 4 });
  });

  it("leaves out the middle of a long transcript", () => {
    const long = episode("val", 1, 0, { messages: [{ role: "user", content: `begin${"x".repeat(50_000)}end` }] });
    const text = String(shown([long])[0]?.transcript);
    expect(text.length).toBeLessThan(LONGEST_PLAIN + 60);
    expect(text).toMatch(/^\[user\]\nbegin.*characters left out.*end$/s);
  });
});

describe("tables", () => {
  it("spread training's rows over the run, and have no more than they may", () => {
    const tables = new Tables({ most: 10, steps: 100 });
    const sizes: number[] = [];
    for (let step = 1; step <= 100; step++) {
      tables.add([episode("train", step), episode("train", step, 1)]);
      sizes.push(...tables.due(step, step === 100).map(({ text }) => JSON.parse(text).data.length));
    }
    expect(sizes).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it("are written less often as they grow, so that the files stay few", () => {
    const tables = new Tables({ most: 1000, steps: 1000 });
    let [files, rows] = [0, 0];
    for (let step = 1; step <= 1000; step++) {
      tables.add([episode("train", step)]);
      for (const { text } of tables.due(step, step === 1000)) {
        files++;
        rows = JSON.parse(text).data.length;
      }
    }
    expect(rows).toBe(1000);
    expect(files).toBeLessThan(60);
  });

  it("keep the newest rows of validation, and are written with each one", () => {
    const tables = new Tables({ most: 0, steps: 10 });
    for (let step = 0; step < 40; step++) {
      tables.add(Array.from({ length: 20 }, (_, member) => episode("val", step, member)));
      expect(tables.due(step, false)).toHaveLength(1);
      expect(tables.due(step, false)).toHaveLength(0);
    }
    tables.add([episode("val", 40)]);
    const rows = JSON.parse(tables.due(40, true)[0]!.text).data;
    expect(rows).toHaveLength(NEWEST);
    expect(rows.at(-1)[0]).toBe(40);
  });

  it("take no row of training where none is asked for", () => {
    const tables = new Tables({ most: 0, steps: 10 });
    tables.add([episode("train", 5)]);
    expect(tables.due(5, true)).toEqual([]);
  });
});

describe("a table's file", () => {
  it("gives its rows back, and none to a table with other columns", () => {
    const rows = rowsOf([episode("val", 1), episode("val", 1, 1)]);
    const { text } = tableFile("val/generations", columnsOf("val"), rows, 1);
    expect(rowsIn(text, columnsOf("val"))).toEqual(rows);
    expect(rowsIn(text, columnsOf("train"))).toEqual([]);
  });
});
