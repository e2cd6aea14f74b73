/**
 * The part of a `.wandb` file with which a resumed run goes on: all entries before the end of the run, or before the first step
 * that is repeated. One pass over the file reads it. Its memory is bounded by the run's console lines and summary.
 */
import type { ByteSource } from "../../../support/files/JsonLines.ts";
import { HEADER, records } from "./Blocks.ts";
import { type Decoded, decode } from "./decode.ts";
import { Counts } from "./FileStream.ts";
import { Latest } from "./Json.ts";
import { keys, type TableKey, tableKeys } from "./Tables.ts";

export class KeptPart {
  /** Offset behind the last record that is kept. */
  end: number = HEADER.length;
  /** Records that are kept. */
  number = 0;
  /** The last step; null if there is none. */
  step: number | null = null;
  /** Seconds of the run so far. */
  runtime = 0;
  readonly metrics: string[] = [];
  readonly output: string[] = [];
  readonly summary = new Latest();
  /** The newest file of each table. */
  readonly tables: { [key in TableKey]?: string } = {};
  /** Files that only the part that is cut names. */
  readonly dropped: string[] = [];
  /** The lines sent before `sent`, an offset of the file. `sent` is `end` if less is kept. */
  readonly counts = new Counts();
  sent: number = HEADER.length;

  add(entry: Decoded | null, end: number, sent: number): void {
    this.end = end;
    this.number++;
    if (end <= sent) {
      this.sent = end;
      if (entry !== null) this.counts.add(entry);
    }
    switch (entry?._tag) {
      case "History":
        this.step = entry.step;
        return;
      case "Metric":
        this.metrics.push(entry.name);
        return;
      case "Output":
        this.output.push(entry.line);
        return;
      case "Summary":
        this.summary.add(entry.items);
        return;
      case "Files":
        for (const path of entry.paths) this.#table(path);
        return;
      default:
        return;
    }
  }

  #table(path: string): void {
    for (const key of tableKeys) if (path.startsWith(`media/table/${keys[key]}_`)) this.tables[key] = path;
  }
}

const runtimeIn = (history: Uint8Array | undefined): number => {
  const entry = history === undefined ? null : decode(history);
  const found = entry?._tag === "History" ? entry.items.find(({ path }) => path[0] === "_runtime") : undefined;
  return found === undefined ? 0 : Number(found.json);
};

/** A table's file belongs to the step whose history comes behind it, so what precedes a cut history is cut with it. */
const opensStep = (entry: Decoded | null): boolean => entry?._tag === "Files" || entry?._tag === "Metric";

/** Reads the file as far as it is kept for a run that goes on from `step`. `sent` is the offset up to which a server has it. */
export const readKeptPart = async (source: ByteSource, step: number, sent: number): Promise<KeptPart> => {
  const kept = new KeptPart();
  let waiting: { readonly entry: Decoded | null; readonly end: number }[] = [];
  let cut = false;
  let last: Uint8Array | undefined;
  for await (const { end, payload } of records(source)) {
    const entry = decode(payload, false);
    if (cut) {
      if (entry?._tag === "Files") kept.dropped.push(...entry.paths);
      continue;
    }
    if (entry?._tag === "Exit" || (entry?._tag === "History" && entry.step > step)) {
      for (const { entry: earlier } of waiting) if (earlier?._tag === "Files") kept.dropped.push(...earlier.paths);
      cut = true;
      continue;
    }
    if (opensStep(entry)) {
      waiting.push({ entry, end });
      continue;
    }
    for (const earlier of waiting) kept.add(earlier.entry, earlier.end, sent);
    waiting = [];
    kept.add(entry, end, sent);
    if (entry?._tag === "History") last = payload;
  }
  kept.runtime = runtimeIn(last);
  return kept;
};
