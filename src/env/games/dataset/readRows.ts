/**
 * Reads the files of a source into the rows of each split. An unusable row is left out and counted, and never stops a run; a file without a
 * usable row rejects. Invariant: the rows, their order and their sides depend only on the files and the source, so that every thread draws
 * the same instance from the same stream.
 */
import { Result, Schema } from "effect";
import { explain } from "../../../config/decode.ts";
import type { Split } from "../../contract/Environment.ts";
import { contentShare } from "./contentShare.ts";
import { locate } from "./locate.ts";
import { DatasetError, missingColumn } from "./RowReader.ts";
import type { SkippedRows, Source, SplitRows } from "./Source.ts";

/** A report names so many of the rows that are left out, with place and problem. */
const maxExamples = 3;

interface KeyedRow<Row> {
  readonly row: Row;
  readonly key: string;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Reads one row by the form: the row, null if it is unwanted, or its problem, whose text is made only for a report. */
const readRow =
  <Fields, Row>({ columns, form }: Source<Fields, Row>) =>
  (value: unknown, place: () => string): Result.Result<KeyedRow<Row> | null, () => string> => {
    if (!isRecord(value)) return Result.fail(() => "not an object");
    const fields: Record<string, unknown> = {};
    for (const [field, { name, required }] of Object.entries(columns)) {
      if (Object.hasOwn(value, name)) fields[field] = value[name];
      else if (required) return Result.fail(() => missingColumn(name, Object.keys(value)));
    }
    const decoded = Schema.decodeUnknownResult(form.schema)(fields);
    if (Result.isFailure(decoded)) {
      return Result.fail(() => explain(form.schema, fields, decoded.failure).replace(/\n.*/s, ""));
    }
    const row = form.row(decoded.success, place);
    if (Result.isFailure(row)) return Result.fail(() => row.failure);
    return Result.succeed(row.success === null ? null : { row: row.success, key: form.key(decoded.success) });
  };

/** The usable rows among the first `maxRows` of one file (0 means all). It rejects if there are none. */
const readFile = async <Fields, Row>(
  file: string,
  source: Source<Fields, Row>,
  maxRows: number,
): Promise<{ readonly usable: readonly KeyedRow<Row>[]; readonly skipped: SkippedRows }> => {
  const { path, reader } = await locate(file);
  const read = readRow(source);
  const usable: KeyedRow<Row>[] = [];
  const examples: string[] = [];
  let rows = 0;
  let count = 0;
  reading: for await (const batch of reader.rows(path, file, Object.values(source.columns))) {
    for (const { at, problem, value } of batch) {
      if (maxRows > 0 && rows === maxRows) break reading;
      rows++;
      const place = () => reader.place(file, at);
      const result = problem === null ? read(value, place) : Result.fail(() => problem);
      if (Result.isSuccess(result)) {
        if (result.success !== null) usable.push(result.success);
      } else if (++count <= maxExamples) {
        examples.push(`${place()}: ${result.failure()}`);
      }
    }
  }
  if (rows === 0) throw new DatasetError({ file, message: `${file}: holds no rows` });
  if (usable.length === 0) {
    const why = examples.length === 0 ? "" : `; ${examples.join("; ")}`;
    throw new DatasetError({ file, message: `${file}: none of its ${rows} rows can be used${why}` });
  }
  return { usable, skipped: { file, rows, count, examples } };
};

const rowsOf = <Row>(rows: readonly KeyedRow<Row>[]): readonly Row[] => rows.map(({ row }) => row);

/** Reads the files of a source. It rejects with a `DatasetError`. */
export const readRows = async <Fields, Row>(source: Source<Fields, Row>): Promise<SplitRows<Row>> => {
  const { max_rows, path, val_path, val_share } = source.files;
  const { skipped, usable } = await readFile(path, source, max_rows);
  if (val_path !== "") {
    const other = await readFile(val_path, source, 0);
    const heldOut = new Set(other.usable.map(({ key }) => key));
    const train = usable.filter(({ key }) => !heldOut.has(key));
    if (train.length === 0) {
      throw new DatasetError({ file: path, message: `${path}: each of its rows stands in ${val_path} too` });
    }
    return { train: rowsOf(train), val: rowsOf(other.usable), skipped: [skipped, other.skipped] };
  }
  if (val_share === 0) {
    const rows = rowsOf(usable);
    return { train: rows, val: rows, skipped: [skipped] };
  }
  const sides: Record<Split, Row[]> = { train: [], val: [] };
  for (const { key, row } of usable) sides[contentShare(key) < val_share ? "val" : "train"].push(row);
  const empty = sides.val.length === 0 ? "validation" : sides.train.length === 0 ? "training" : null;
  if (empty !== null) {
    const message = `${path}: a val_share of ${val_share} leaves none of its ${usable.length} rows for ${empty}`;
    throw new DatasetError({ file: path, message });
  }
  return { ...sides, skipped: [skipped] };
};
