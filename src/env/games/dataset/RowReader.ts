/**
 * The contract of a file format: it yields the rows of a file in order, in batches, so that a large file needs no promise for each row. A
 * row that cannot be read is a value (`problem`); a file that cannot be read at all is a `DatasetError`.
 */
import { choices } from "../../../config/nearest.ts";

export interface Column {
  readonly name: string;
  /** A row without it cannot be used. */
  readonly required: boolean;
}

export interface RawRow {
  /** Its line or its index, as `place` shows it. */
  readonly at: number;
  /** Fields by column name, unchecked. */
  readonly value: unknown;
  /** Why the row could not be read; null where `value` holds it. */
  readonly problem: string | null;
}

export interface RowReader {
  /**
   * Rows of the file at `path`, which messages call `shown`. A format that knows its columns reads only `columns`, and rejects where a
   * required one is missing.
   */
  readonly rows: (path: string, shown: string, columns: readonly Column[]) => AsyncGenerator<readonly RawRow[]>;
  /** The place of a row, counted as an editor or a data frame counts. */
  readonly place: (shown: string, at: number) => string;
}

/** Says that a column is missing; those that are there follow, the most similar first. */
export const missingColumn = (name: string, present: readonly string[]): string =>
  `no column ${JSON.stringify(name)}; columns: ${choices(name, present)}`;
