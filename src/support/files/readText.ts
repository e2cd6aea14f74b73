/**
 * The text of a file that is to be short. Invariant: anything but a regular file of at most so many bytes is refused before it is opened, so
 * that a file that was put there by mistake costs neither memory nor time.
 */
import { readFile, stat } from "node:fs/promises";
import { damaged } from "./FileError.ts";

/** Rejects with a `FileError` where the file is too long or no file, and with what the operating system says. */
export const readText = async (path: string, longest: number): Promise<string> => {
  const found = await stat(path);
  if (!found.isFile()) throw damaged(path, `${path}: it is no regular file`);
  if (found.size > longest) throw damaged(path, `${path}: it has ${found.size} bytes, at most ${longest} are read`);
  return readFile(path, "utf8");
};
