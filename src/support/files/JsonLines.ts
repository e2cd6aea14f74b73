/**
 * JSON-lines files of a run's folder: one object a line, each with its `step`, in ascending order. A resumed run cuts a file back
 * to its step, and sets lines that are no records aside in another file. Invariant: the file is read backwards, a chunk at a
 * time, only as far as the line to keep, so its size does not matter.
 */
import { type FileHandle, open } from "node:fs/promises";
import { parseObject } from "./readLines.ts";

/** The bytes of a file: `read` returns exactly `length` of them from offset `at`. */
export interface ByteSource {
  readonly size: number;
  readonly read: (at: number, length: number) => Promise<Buffer>;
}

/** The place at which a file is cut. */
export interface Cut {
  /** Offset just behind the last line to keep. */
  readonly end: number;
  /** Spans behind it that hold no records, ascending. */
  readonly garbage: readonly Span[];
}

interface Span {
  readonly start: number;
  readonly end: number;
  readonly lines: number;
}

export const CHUNK_BYTES = 64 * 1024;
/** A longer line is no record. */
const LONGEST_LINE = 64 * 2 ** 20;
const NEWLINE = 0x0a;
const BRACE = 0x7b;

/** The line's step; undefined if it is not a JSON object with a numeric `step`. */
const stepOf = (line: string): number | undefined => {
  const step = parseObject(line)?.step;
  return typeof step === "number" ? step : undefined;
};

/** One line, collected from its end. */
class Line {
  /** Offset behind the line and its newline. */
  readonly end: number;
  /** True for the last line of a file without a newline. */
  readonly #torn: boolean;
  #parts: Buffer[] = [];
  #length = 0;
  #first: number | undefined;

  constructor(end: number, torn: boolean) {
    this.end = end;
    this.#torn = torn;
  }

  prepend(part: Buffer): void {
    if (part.length === 0) return;
    this.#first = part[0];
    this.#length += part.length;
    if (this.#torn || this.#length > LONGEST_LINE) this.#parts = [];
    else this.#parts.push(part);
  }

  /** A torn record is cut like those of later steps: its run was killed, and the resumed run writes it again. */
  kind(step: number): "kept" | "cut" | "garbage" {
    if (this.#length === 0) return "cut";
    if (this.#torn) return this.#first === BRACE ? "cut" : "garbage";
    if (this.#length > LONGEST_LINE) return "garbage";
    const at = stepOf(Buffer.concat(this.#parts.toReversed()).toString("utf8"));
    if (at === undefined) return "garbage";
    return at <= step ? "kept" : "cut";
  }
}

/** Adds a span before the others, and joins it with the first if they touch. */
const addSpan = (spans: Span[], start: number, end: number): void => {
  const next = spans.at(-1);
  if (next?.start === end) spans[spans.length - 1] = { start, end: next.end, lines: next.lines + 1 };
  else spans.push({ start, end, lines: 1 });
};

/**
 * Finds the end of the last whole line whose step is at most `step`; 0 if there is none. A line without its newline counts as
 * torn, and a line that cannot be parsed is skipped. Reads `chunkBytes` at a time and holds one line beside them.
 */
export const findCut = async (
  { size, read }: ByteSource,
  step: number,
  chunkBytes: number = CHUNK_BYTES,
): Promise<Cut> => {
  const spans: Span[] = [];
  let line = new Line(size, true);
  const isKept = (start: number): boolean => {
    const kind = line.kind(step);
    if (kind === "garbage") addSpan(spans, start, line.end);
    return kind === "kept";
  };
  for (let chunkEnd = size; chunkEnd > 0; ) {
    const start = Math.max(0, chunkEnd - chunkBytes);
    let rest = await read(start, chunkEnd - start);
    for (let newline = rest.lastIndexOf(NEWLINE); newline >= 0; newline = rest.lastIndexOf(NEWLINE)) {
      line.prepend(rest.subarray(newline + 1));
      const lineStart = start + newline + 1;
      if (isKept(lineStart)) return { end: line.end, garbage: spans.toReversed() };
      line = new Line(lineStart, false);
      rest = rest.subarray(0, newline);
    }
    line.prepend(rest);
    chunkEnd = start;
  }
  const end = isKept(0) ? line.end : 0;
  return { end, garbage: spans.toReversed() };
};

/** The offset at which `findCut` cuts. */
export const endOfStep = async (source: ByteSource, step: number, chunkBytes: number = CHUNK_BYTES): Promise<number> =>
  (await findCut(source, step, chunkBytes)).end;

const sourceOf = (file: FileHandle, size: number): ByteSource => ({
  size,
  read: async (at, length) => {
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length; ) {
      const { bytesRead } = await file.read(bytes, done, length - done, at + done);
      if (bytesRead === 0) throw new Error(`the file ended at byte ${at + done} while being read`);
      done += bytesRead;
    }
    return bytes;
  },
});

/** Appends the spans to the file at `path`, and ends each with a newline. */
const setAside = async ({ read }: ByteSource, spans: readonly Span[], path: string): Promise<void> => {
  const file = await open(path, "a");
  try {
    for (const { end, start } of spans) {
      let last: number | undefined;
      for (let at = start; at < end; at += CHUNK_BYTES) {
        const bytes = await read(at, Math.min(CHUNK_BYTES, end - at));
        await file.appendFile(bytes);
        last = bytes.at(-1);
      }
      if (last !== NEWLINE) await file.appendFile("\n");
    }
    await file.datasync();
  } finally {
    await file.close();
  }
};

const isMissing = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT";

/** Path of the file that collects lines which are no records. */
export const garbagePath = (path: string): string => `${path}.garbage`;

/**
 * Cuts the file behind its last whole line whose step is at most `step`; a torn last line is cut. Lines behind it that are no
 * records are first appended to `garbagePath(path)`, so that a kill in between loses none. Returns the number of these. A missing
 * file stays missing. Rejects with the system's error.
 */
export const truncateAfterStep = async (path: string, step: number): Promise<number> => {
  const file = await open(path, "r+").catch((cause: unknown) => {
    if (isMissing(cause)) return null;
    throw cause;
  });
  if (file === null) return 0;
  try {
    const { size } = await file.stat();
    const source = sourceOf(file, size);
    const { end, garbage } = await findCut(source, step);
    if (garbage.length > 0) await setAside(source, garbage, garbagePath(path));
    if (end < size) await file.truncate(end);
    return garbage.reduce((sum, { lines }) => sum + lines, 0);
  } finally {
    await file.close();
  }
};

/** The message of a resumed run about lines that were set aside. */
export const setAsideMessage = (path: string, lines: number): string =>
  `${path}: ${lines} ${lines === 1 ? "line that is no record is" : "lines that are no records are"} set aside in ${garbagePath(path)}`;
