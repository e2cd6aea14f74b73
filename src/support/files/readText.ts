/**
 * The text of a file that is to be short. Invariant: anything but a regular file of at most so many bytes is refused before it is opened, so
 * that a file that was put there by mistake costs neither memory nor time.
 */
import { readFile, stat } from "node:fs/promises";
import { damaged } from "./FileError.ts";

/** Rejects with a `FileError` where the file is too long or no file, and with what the operating system says. */
export const readText = async (path: string, maxBytes: number): Promise<string> => {
  const stats = await stat(path);
  if (!stats.isFile()) throw damaged(path, `${path}: it is no regular file`);
  if (stats.size > maxBytes) throw damaged(path, `${path}: it has ${stats.size} bytes, at most ${maxBytes} are read`);
  return readFile(path, "utf8");
};
