/**
 * The contract of a file format: it yields the rows of a file in order, in batches, so that a large file needs no promise for each row. A row
 * that cannot be read is a value with a `problem`; a file that cannot be read at all is a `DatasetError`.
 */
import { Schema } from "effect";
import { choices } from "../../../support/text/nearest.ts";

export interface Column {
  readonly name: string;
  /** A row without it cannot be used. */
  readonly required: boolean;
}

export interface RawRow {
  /** The row's line or index, as `place` shows it. */
  readonly at: number;
  /** The fields by column name, unchecked. */
  readonly value: unknown;
  /** The reason why the row could not be read; null if `value` holds it. */
  readonly problem: string | null;
}

export interface RowReader {
  /**
   * Reads the rows of the file at `path`, which messages call `shown`. A format that knows its columns reads only `columns`, and rejects if a
   * required one is missing.
   */
  readonly rows: (path: string, shown: string, columns: readonly Column[]) => AsyncGenerator<readonly RawRow[]>;
  /** The place of a row, counted as an editor or a data frame counts. */
  readonly place: (shown: string, at: number) => string;
}

/** The message of a missing column, with the columns of the file, the most similar first. */
export const missingColumn = (name: string, present: readonly string[]): string =>
  `no column ${JSON.stringify(name)}; columns: ${choices(name, present)}`;

/** The error of a data file that is missing, unreadable or without a usable row. Its message is one sentence for the user. */
export class DatasetError extends Schema.TaggedError<DatasetError>()("DatasetError", {
  file: Schema.String,
  message: Schema.String,
}) {}
