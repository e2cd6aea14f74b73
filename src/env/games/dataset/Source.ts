/** Describes an environment's data for `Dataset`: its files, their columns, the schema of a row, and the part of it that is kept. */
import type { Result, Schema } from "effect";
import type { Split } from "../../contract/Environment.ts";
import type { DataFiles } from "./DataFiles.ts";
import type { Column } from "./RowReader.ts";

/** One constant per kind of row; its identity is the key of the loaded rows. */
export interface RowForm<Fields, Row> {
  /** The fields of a row, named as the source's `columns` name them. */
  readonly schema: Schema.Codec<Fields, unknown>;
  /** Gives the kept part of the row at a place, or the reason why it cannot be used; null leaves an unwanted row out silently. */
  readonly row: (fields: Fields, place: () => string) => Result.Result<Row | null, string>;
  /** Identifies the problem: rows with equal keys are on the same side of the split. */
  readonly key: (fields: Fields) => string;
}

export interface Source<Fields, Row> {
  readonly files: DataFiles;
  /** The file's column of each field of the form. */
  readonly columns: Readonly<Record<string, Column>>;
  readonly form: RowForm<Fields, Row>;
}

/** The rows that were left out of one file. */
export interface SkippedRows {
  readonly file: string;
  /** The number of rows read. */
  readonly rows: number;
  /** The number of rows left out. */
  readonly count: number;
  /** The first few rows left out, each with its place and its problem. */
  readonly examples: readonly string[];
}

/** The rows of each split, in the order of their file. */
export interface SplitRows<Row> extends Readonly<Record<Split, readonly Row[]>> {
  readonly skipped: readonly SkippedRows[];
}
