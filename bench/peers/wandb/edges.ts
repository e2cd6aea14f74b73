/**
 * Writes nine files whose first block has 0 to 8 bytes left behind its second record, for the proof beside it: no chunk header fits into 0 to
 * 6, and into 7 one without data. Usage: node bench/peers/wandb/edges.ts FOLDER
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BLOCK_BYTES, frameRecord, HEADER } from "../../../src/observe/sinks/wandb/Blocks.ts";
import { encode } from "../../../src/observe/sinks/wandb/encode.ts";
import type { WandbEntry } from "../../../src/observe/sinks/wandb/WandbEntry.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: node bench/peers/wandb/edges.ts FOLDER");

const run = {
  _tag: "Run",
  id: "edge",
  entity: "",
  project: "p",
  group: "",
  name: "edge",
  tags: [],
  host: "h",
  started: 1e12,
} as const;
const entriesOf = (length: number): readonly WandbEntry[] => [
  { _tag: "Header", producer: "millrace" },
  { ...run, config: [{ path: ["note"], json: `"${"x".repeat(length)}"` }] },
  { _tag: "History", step: 0, items: [{ path: ["_step"], json: "0" }] },
  { _tag: "Exit", code: 0, seconds: 1 },
];
const fileOf = (entries: readonly WandbEntry[]): Buffer =>
  entries.reduce<Buffer>(
    (file, entry, index) => Buffer.concat([file, frameRecord(encode(entry, index + 1), file.length)]),
    Buffer.from(HEADER),
  );

const base = 30_000;
const short = BLOCK_BYTES - fileOf(entriesOf(base).slice(0, 2)).length;
for (let left = 0; left <= 8; left++) {
  const entries = entriesOf(base + short - left);
  if (BLOCK_BYTES - fileOf(entries.slice(0, 2)).length !== left)
    throw new Error(`the block does not end ${left} bytes later`);
  const at = join(folder, `offline-run-20260101_00000${left}-edge`);
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, "run-edge.wandb"), fileOf(entries));
}
