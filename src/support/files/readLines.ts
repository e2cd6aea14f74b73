/**
 * Reads whole lines of a file from an offset, a chunk at a time; the event loop is free between chunks. Invariant: it holds one
 * chunk and one unfinished line, however long the file is.
 */
import type { FileHandle } from "node:fs/promises";
import { readRange } from "./regularFile.ts";

/**
 * Takes a line's bytes without its newline, valid until the call returns, and its offset. `false` ends the reading before the
 * line.
 */
export type OnLine = (line: Buffer, offset: number) => boolean | undefined;

/** Parses a line as a JSON object; null for any other line. */
export const parseObject = (line: string | Buffer): Readonly<Record<string, unknown>> | null => {
  try {
    const value: unknown = JSON.parse(line.toString());
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const NEWLINE = 0x0a;
export const CHUNK_BYTES = 256 * 1024;
/** A longer line is no record, and is skipped. */
const LONGEST_LINE = 64 * 2 ** 20;

/** Returns the offset behind the last line read. A line without its newline is not read: it is being written, or torn. */
export const readLines = async (
  file: FileHandle,
  from: number,
  to: number,
  onLine: OnLine,
  chunkBytes: number = CHUNK_BYTES,
): Promise<number> => {
  let parts: Buffer[] = [];
  let length = 0;
  let start = from;
  for (let at = from; at < to; ) {
    const chunk = await readRange(file, at, Math.min(chunkBytes, to - at));
    if (chunk.length === 0) break;
    let begin = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, begin)) {
      const piece = chunk.subarray(begin, end);
      const line = parts.length === 0 ? piece : Buffer.concat([...parts, piece]);
      if (length <= LONGEST_LINE && onLine(line, start) === false) return start;
      parts = [];
      length = 0;
      begin = end + 1;
      start = at + begin;
    }
    length += chunk.length - begin;
    if (length > LONGEST_LINE) parts = [];
    else if (begin < chunk.length) parts.push(chunk.subarray(begin));
    at += chunk.length;
  }
  return start;
};
