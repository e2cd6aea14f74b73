/**
 * Opens files of a run's folder for reading. Only regular files are opened: a link could lead out of the folder, and a pipe would
 * block.
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Null if the file is missing or not a regular file. */
const openReadable = async (path: string): Promise<FileHandle | null> => {
  const file = await open(path, flags).catch(() => null);
  if (file === null) return null;
  const stat = await file.stat().catch(() => null);
  if (stat?.isFile() === true) return file;
  await file.close();
  return null;
};

/** Opens the file while `use` runs; null if it cannot be read. */
export const withFile = async <A>(path: string, use: (file: FileHandle) => Promise<A>): Promise<A | null> => {
  const file = await openReadable(path);
  if (file === null) return null;
  try {
    return await use(file);
  } finally {
    await file.close();
  }
};

/** The text of a file; null if it is longer than `most` bytes or cannot be read. */
export const readShortText = (path: string, most: number): Promise<string | null> =>
  withFile(path, async (file) => ((await file.stat()).size > most ? null : file.readFile("utf8"))).catch(() => null);

/** Reads `length` bytes from `at`, or fewer if the file ends before. */
export const readRange = async (file: FileHandle, at: number, length: number): Promise<Buffer> => {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, at + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return bytes.subarray(0, done);
};
