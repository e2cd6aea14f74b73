import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decode } from "../../../../src/observe/sinks/wandb/decode.ts";
import { encode } from "../../../../src/observe/sinks/wandb/encode.ts";
import type { WandbEntry } from "../../../../src/observe/sinks/wandb/WandbEntry.ts";
import { assertProperty } from "../../../property.ts";

const golden: unknown = JSON.parse(readFileSync("test/fixtures/wandb/records.json", "utf8"));

const started = 1_700_000_000_250;
const entries: Readonly<Record<string, WandbEntry>> = {
  Header: { _tag: "Header", producer: "millrace 0.1.0" },
  Run: {
    _tag: "Run",
    id: "abc",
    entity: "team",
    project: "millrace",
    config: [{ path: ["run"], json: '{"seed":7}' }],
    group: "g",
    name: "n",
    tags: ["a", "b"],
    host: "h",
    started,
  },
  Config: { _tag: "Config", items: [{ path: ["x"], json: "NaN" }] },
  Environment: {
    _tag: "Environment",
    os: "linux",
    program: "millrace",
    host: "h",
    started: 1_700_000_000_000,
    cpus: 2,
    memoryBytes: 8_589_934_592,
  },
  Metric: { _tag: "Metric", name: "train/success", stepMetric: "step", hidden: false },
  Axis: { _tag: "Metric", name: "step", stepMetric: "", hidden: true },
  Glob: { _tag: "Metric", name: "stage/*", stepMetric: "step", hidden: false },
  History: {
    _tag: "History",
    step: 300,
    items: [
      { path: ["a/b"], json: "1.5" },
      { path: ["t", "_type"], json: '"table-file"' },
    ],
  },
  Summary: { _tag: "Summary", items: [{ path: ["_wandb", "runtime"], json: "3" }] },
  Stats: { _tag: "Stats", time: 1_700_000_001_000, items: [{ path: ["proc.memory.rssMB"], json: "512" }] },
  Output: { _tag: "Output", time: 1_700_000_001_500, line: "step 1 ✓" },
  Files: { _tag: "Files", paths: ["media/table/val/x.table.json"] },
  Exit: { _tag: "Exit", code: 1, seconds: 90 },
  Final: { _tag: "Final" },
  Footer: { _tag: "Footer" },
  Alert: { _tag: "Alert", title: "contexts are full (step 3)", text: "Raise it.\nIt is small." },
};

describe("a record", () => {
  it("has the bytes that W&B's own package gives it", () => {
    const encoded = Object.entries(entries).map(([name, entry], index) => [
      name,
      Buffer.from(encode(entry, index + 1)).toString("hex"),
    ]);
    expect(Object.fromEntries(encoded)).toEqual(golden);
  });

  it("is read back where a file is gone on with", () => {
    const read = ["Metric", "Axis", "Glob", "History", "Summary", "Stats", "Output", "Files", "Exit", "Alert"];
    for (const name of read) expect(decode(encode(entries[name]!, 7))).toEqual(entries[name]);
    for (const name of ["Header", "Run", "Config", "Environment", "Final", "Footer"])
      expect(decode(encode(entries[name]!, 7))).toBeNull();
  });

  it("keeps any text, path and step", () => {
    const text = fc.string({ unit: "grapheme" });
    const item = fc.record({
      path: fc.array(text, { minLength: 1, maxLength: 3 }),
      json: text.map((value) => `"${value}"`),
    });
    assertProperty(
      fc.property(fc.nat(), fc.array(item), text, (step, items, line) => {
        const history: WandbEntry = { _tag: "History", step, items };
        expect(decode(encode(history, 1))).toEqual(history);
        const output: WandbEntry = { _tag: "Output", time: 1_700_000_000_123, line };
        expect(decode(encode(output, 1))).toEqual(output);
      }),
    );
  });
});
