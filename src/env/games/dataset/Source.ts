/**
 * Describes an environment's data: which files, which of their columns, what a row must be, and what is kept of it. `Dataset` reads it.
 */
import type { Result, Schema } from "effect";
import type { Split } from "../../contract/Environment.ts";
import type { DataFiles } from "./DataFiles.ts";
import type { Column } from "./RowReader.ts";

/** One constant per kind of row; its identity is the key of the loaded rows. */
export interface Form<Fields, Row> {
  /** The fields of a row, named as the source's `columns` name them. */
  readonly schema: Schema.Codec<Fields, unknown>;
  /** What is kept, or why the row cannot be used; null leaves an unwanted row out silently. */
  readonly row: (fields: Fields) => Result.Result<Row | null, string>;
  /** Identifies the problem: rows with equal keys are on the same side of the split. */
  readonly key: (fields: Fields) => string;
}

export interface Source<Fields, Row> {
  readonly files: DataFiles;
  /** The file's column of each field of the form. */
  readonly columns: Readonly<Record<string, Column>>;
  readonly form: Form<Fields, Row>;
}

/** What was left out of one file. */
export interface Skipped {
  readonly file: string;
  /** Rows read. */
  readonly rows: number;
  readonly count: number;
  /** The first few, each with its place and its problem. */
  readonly examples: readonly string[];
}

/** The rows of each split, in the order of their file. */
export interface Rows<Row> extends Readonly<Record<Split, readonly Row[]>> {
  readonly skipped: readonly Skipped[];
}
