/**
 * Reads the files of a source into the rows of each split. A row that cannot be used is left out and counted, and never stops a
 * run; a file without a usable row rejects. Invariant: which rows there are, in which order and on which side, is a pure function of
 * the files and the source, so that every thread draws the same instance from the same stream.
 */
import { Result, Schema } from "effect";
import { explain } from "../../../config/decode.ts";
import type { Split } from "../../contract/Environment.ts";
import { contentShare } from "./contentShare.ts";
import { DatasetError } from "./DatasetError.ts";
import { locate } from "./locate.ts";
import { missingColumn } from "./RowReader.ts";
import type { Rows, Skipped, Source } from "./Source.ts";

/** How many of the rows that are left out are reported with place and problem. */
const examplesTold = 3;

interface Kept<Row> {
  readonly row: Row;
  readonly key: string;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** One row by the form, null where it is not wanted, or what is wrong with it; that text is made only when it is shown. */
const readRow =
  <Fields, Row>({ columns, form }: Source<Fields, Row>) =>
  (value: unknown): Result.Result<Kept<Row> | null, () => string> => {
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
    const row = form.row(decoded.success);
    if (Result.isFailure(row)) return Result.fail(() => row.failure);
    return Result.succeed(row.success === null ? null : { row: row.success, key: form.key(decoded.success) });
  };

/** The usable rows among the first `most` of one file (0: all). Rejects where there are none. */
const readFile = async <Fields, Row>(
  file: string,
  source: Source<Fields, Row>,
  most: number,
): Promise<{ readonly kept: readonly Kept<Row>[]; readonly skipped: Skipped }> => {
  const { path, reader } = await locate(file);
  const read = readRow(source);
  const kept: Kept<Row>[] = [];
  const examples: string[] = [];
  let rows = 0;
  let count = 0;
  reading: for await (const batch of reader.rows(path, file, Object.values(source.columns))) {
    for (const { at, problem, value } of batch) {
      if (most > 0 && rows === most) break reading;
      rows++;
      const result = problem === null ? read(value) : Result.fail(() => problem);
      if (Result.isSuccess(result)) {
        if (result.success !== null) kept.push(result.success);
      } else if (++count <= examplesTold) {
        examples.push(`${reader.place(file, at)}: ${result.failure()}`);
      }
    }
  }
  if (rows === 0) throw new DatasetError({ file, message: `${file}: holds no rows` });
  if (kept.length === 0) {
    const why = examples.length === 0 ? "" : `; ${examples.join("; ")}`;
    throw new DatasetError({ file, message: `${file}: none of its ${rows} rows can be used${why}` });
  }
  return { kept, skipped: { file, rows, count, examples } };
};

const rowsOf = <Row>(kept: readonly Kept<Row>[]): readonly Row[] => kept.map(({ row }) => row);

/** Rejects with a `DatasetError`. */
export const readRows = async <Fields, Row>(source: Source<Fields, Row>): Promise<Rows<Row>> => {
  const { max_rows, path, val_path, val_share } = source.files;
  const { kept, skipped } = await readFile(path, source, max_rows);
  if (val_path !== "") {
    const other = await readFile(val_path, source, 0);
    const heldOut = new Set(other.kept.map(({ key }) => key));
    const train = kept.filter(({ key }) => !heldOut.has(key));
    if (train.length === 0) {
      throw new DatasetError({ file: path, message: `${path}: each of its rows stands in ${val_path} too` });
    }
    return { train: rowsOf(train), val: rowsOf(other.kept), skipped: [skipped, other.skipped] };
  }
  if (val_share === 0) {
    const rows = rowsOf(kept);
    return { train: rows, val: rows, skipped: [skipped] };
  }
  const sides: Record<Split, Row[]> = { train: [], val: [] };
  for (const { key, row } of kept) sides[contentShare(key) < val_share ? "val" : "train"].push(row);
  const empty = sides.val.length === 0 ? "validation" : sides.train.length === 0 ? "training" : null;
  if (empty !== null) {
    const message = `${path}: a val_share of ${val_share} leaves none of its ${kept.length} rows for ${empty}`;
    throw new DatasetError({ file: path, message });
  }
  return { ...sides, skipped: [skipped] };
};
