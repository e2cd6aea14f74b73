/**
 * JSON-lines files of a run's folder: one object a line, each with its `step`, steps ascending. A resumed run cuts a file back to the step
 * it goes on from. Invariant: the file is read backwards, a chunk at a time, and only as far as the line to keep, so that neither the
 * size of the file nor the number of its lines matters.
 */
import { type FileHandle, open } from "node:fs/promises";

/** The bytes of a file: `read` gives exactly `length` of them from offset `at`. */
export interface ByteSource {
  readonly size: number;
  readonly read: (at: number, length: number) => Promise<Buffer>;
}

export const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** The line's step, or undefined where it is not a JSON object with a numeric `step`. */
const stepOf = (line: string): number | undefined => {
  try {
    const value: unknown = JSON.parse(line);
    const step = typeof value === "object" && value !== null && "step" in value ? value.step : undefined;
    return typeof step === "number" ? step : undefined;
  } catch {
    return undefined;
  }
};

/**
 * Offset just behind the last whole line whose step is at most `step`; 0 where there is none. A line without its newline counts as torn.
 * Lines that cannot be parsed are skipped. Reads `chunkBytes` at a time and holds one line at most beside them.
 */
export const endOfStep = async (
  { size, read }: ByteSource,
  step: number,
  chunkBytes: number = CHUNK_BYTES,
): Promise<number> => {
  /** Offset behind the newline of the line being gathered; null until the torn last line is passed. */
  let end: number | null = null;
  /** What is read of that line, the last part first. */
  let parts: Buffer[] = [];
  const isKept = (first: Buffer): boolean => {
    const at = stepOf(Buffer.concat([first, ...parts.toReversed()]).toString("utf8"));
    return at !== undefined && at <= step;
  };
  for (let chunkEnd = size; chunkEnd > 0; ) {
    const start = Math.max(0, chunkEnd - chunkBytes);
    let rest = await read(start, chunkEnd - start);
    for (let newline = rest.lastIndexOf(NEWLINE); newline >= 0; newline = rest.lastIndexOf(NEWLINE)) {
      if (end !== null && isKept(rest.subarray(newline + 1))) return end;
      end = start + newline + 1;
      parts = [];
      rest = rest.subarray(0, newline);
    }
    if (end !== null) parts.push(rest);
    chunkEnd = start;
  }
  return end !== null && isKept(Buffer.alloc(0)) ? end : 0;
};

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

const isMissing = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT";

/**
 * Cuts the file behind its last whole line whose step is at most `step`, a torn last line included in what is cut. A file that is not
 * there stays so. Rejects with what the operating system says.
 */
export const keepThrough = async (path: string, step: number): Promise<void> => {
  const file = await open(path, "r+").catch((cause: unknown) => {
    if (isMissing(cause)) return null;
    throw cause;
  });
  if (file === null) return;
  try {
    const { size } = await file.stat();
    const end = await endOfStep(sourceOf(file, size), step);
    if (end < size) await file.truncate(end);
  } finally {
    await file.close();
  }
};
