/**
 * A table of episodes that grows over the run: one row an episode. It is written as a whole whenever it is due. Invariant: it
 * never exceeds its limit of rows.
 */
import { createHash } from "node:crypto";
import { countTurns, type EpisodeRecord } from "../../../domain/EpisodeRecord.ts";
import { endingText, plainTranscript } from "../transcript.ts";
import { type Item, itemsOf, textOf } from "./Json.ts";

export type Cell = string | number | boolean | null;
export type Row = readonly Cell[];

const cells: Readonly<Record<string, (sequences: readonly [EpisodeRecord, ...EpisodeRecord[]]) => Cell>> = {
  step: ([{ step }]) => step,
  tag: ([{ tag }]) => tag,
  seed: ([{ seed }]) => seed,
  group: ([{ group }]) => group,
  member: ([{ member }]) => member,
  success: ([{ success }]) => success,
  reward: ([{ reward }]) => reward,
  penalty: ([{ penalty }]) => penalty,
  score: ([{ score }]) => score ?? null,
  verdict: ([{ verdict }]) => verdict ?? null,
  turns: (sequences) => sequences.reduce((sum, sequence) => sum + countTurns(sequence), 0),
  tokens: (sequences) =>
    sequences.reduce((sum, { turns }) => sum + turns.reduce((all, { ids }) => all + ids.length, 0), 0),
  outcome: ([first]) => endingText(first),
  transcript: plainTranscript,
};

const trainOnly: ReadonlySet<string> = new Set(["score", "verdict"]);

export const columnsOf = (split: EpisodeRecord["split"]): readonly string[] =>
  Object.keys(cells).filter((name) => split === "train" || !trainOnly.has(name));

/** A number that is not finite has no word in JSON. */
const plain = (cell: Cell): Cell => (typeof cell === "number" && !Number.isFinite(cell) ? null : cell);

/** One row an episode, in the order they come; the token sequences of an episode are joined. */
export const rowsOf = (records: readonly EpisodeRecord[]): readonly Row[] => {
  const episodes = Map.groupBy(records, ({ group, member, step }) => `${step}/${group}/${member}`);
  return [...episodes.values()].flatMap((sequences) => {
    const [first, ...rest] = sequences.toSorted((a, b) => a.sequence - b.sequence);
    return first === undefined
      ? []
      : [columnsOf(first.split).map((name) => plain(cells[name]?.([first, ...rest]) ?? null))];
  });
};

/** A table as a file of the run, with its items in the history. */
export interface TableFile {
  readonly path: string;
  readonly text: string;
  readonly items: readonly Item[];
}

/** Rows become a file whose name holds the step and the digest, so that no file is written twice with other rows. */
export const tableFile = (key: string, columns: readonly string[], rows: readonly Row[], step: number): TableFile => {
  const text = `{"columns":${textOf(columns)},"data":${textOf(rows)}}`;
  const sha256 = createHash("sha256").update(text).digest("hex");
  const path = `media/table/${key}_${step}_${sha256.slice(0, 20)}.table.json`;
  const about = {
    _type: "table-file",
    path,
    sha256,
    size: Buffer.byteLength(text),
    ncols: columns.length,
    nrows: rows.length,
    log_mode: "IMMUTABLE",
  };
  return { path, text, items: itemsOf(key, about) };
};

/** The rows of a table's file; none where it is no table with these columns. */
export const rowsIn = (text: string, columns: readonly string[]): readonly Row[] => {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null || !("columns" in value) || !("data" in value)) return [];
  if (JSON.stringify(value.columns) !== JSON.stringify(columns) || !Array.isArray(value.data)) return [];
  return value.data.filter((row): row is Row => Array.isArray(row) && row.length === columns.length);
};
