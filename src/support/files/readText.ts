/**
 * Reads the text of a short file. Invariant: anything but a regular file of at most `maxBytes` is refused before it is opened, so
 * a wrong file costs neither memory nor time.
 */
import { readFile, stat } from "node:fs/promises";
import { damaged } from "./FileError.ts";

/** Rejects with a `FileError` if the path is too long a file or no regular file, and with the system's error otherwise. */
export const readText = async (path: string, maxBytes: number): Promise<string> => {
  const stats = await stat(path);
  if (!stats.isFile()) throw damaged(path, `${path}: it is no regular file`);
  if (stats.size > maxBytes) throw damaged(path, `${path}: it has ${stats.size} bytes, at most ${maxBytes} are read`);
  return readFile(path, "utf8");
};
