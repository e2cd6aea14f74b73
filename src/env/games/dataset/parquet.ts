/**
 * Reads the rows of a `.parquet` file, a row group at a time and only the requested columns; files may be uncompressed, snappy, gzip, brotli or
 * zstd. Values become plain data: 64-bit integers as numbers if they fit, lists as arrays. Rows count from 0, as a data frame counts them.
 */
import { types } from "node:util";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import {
  asyncBufferFromFile,
  type Compressors,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
} from "hyparquet";
import { DatasetError, missingColumn, type RowReader } from "./RowReader.ts";

const compressors: Compressors = {
  GZIP: (bytes) => gunzipSync(bytes),
  BROTLI: (bytes) => brotliDecompressSync(bytes),
  ZSTD: (bytes) => zstdDecompressSync(bytes),
};

const plain = (value: unknown): unknown => {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Date) return value.toISOString();
  if (types.isTypedArray(value)) return Array.from<unknown, unknown>(value, plain);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
};

export const parquet: RowReader = {
  rows: async function* (path, shown, columns) {
    const fail = (why: string) => new DatasetError({ file: shown, message: `${shown}: ${why}` });
    /** Turns a rejection of the library into a sentence that names the file. */
    const readable = <A>(reading: Promise<A>): Promise<A> =>
      reading.catch((cause: unknown) => {
        throw fail(`cannot be read as parquet: ${cause instanceof Error ? cause.message : String(cause)}`);
      });
    const file = await asyncBufferFromFile(path);
    const metadata = await readable(parquetMetadataAsync(file));
    const present = parquetSchema(metadata).children.map(({ element }) => element.name);
    const missing = columns.find(({ name, required }) => required && !present.includes(name));
    if (missing !== undefined) throw fail(missingColumn(missing.name, present));
    const names = columns.map(({ name }) => name).filter((name) => present.includes(name));
    let rowStart = 0;
    for (const { num_rows } of metadata.row_groups) {
      const first = rowStart;
      rowStart += Number(num_rows);
      const options = { file, metadata, columns: names, rowStart: first, rowEnd: rowStart, compressors };
      const rows = await readable(parquetReadObjects(options));
      yield rows.map((row, index) => ({ at: first + index, value: plain(row), problem: null }));
    }
  },
  place: (shown, at) => `${shown} row ${at}`,
};
