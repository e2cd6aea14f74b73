/** Reads a text file that a user named: a regular UTF-8 file of limited length. Folders, pipes and devices are refused without waiting. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { Result } from "effect";
import { showText } from "./show.ts";

/** Describes why a path cannot be read. */
const obstacle = (error: unknown): string => {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") return "no such file";
  if (code === "EACCES") return "cannot be read: permission denied";
  return `cannot be read: ${showText(error instanceof Error ? error.message : String(error), 160)}`;
};

/** Reads up to `most` + 1 bytes; the extra byte reveals a longer file. */
const bytesOf = (descriptor: number, most: number): Uint8Array => {
  const buffer = new Uint8Array(most + 1);
  let length = 0;
  while (length < buffer.length) {
    const read = readSync(descriptor, buffer, length, buffer.length - length, null);
    if (read === 0) break;
    length += read;
  }
  return buffer.subarray(0, length);
};

/** Returns the text of a file of at most `most` bytes, or its problem. */
export const readText = (file: string, most: number): Result.Result<string, string> => {
  let descriptor: number | null = null;
  try {
    // Opening a pipe would otherwise wait for a writer.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    if (stat.isDirectory()) return Result.fail("is a folder, not a file");
    if (!stat.isFile()) return Result.fail("is a pipe or a device, not a file");
    const bytes = bytesOf(descriptor, most);
    if (bytes.length > most)
      return Result.fail(`is longer than ${most} bytes, the most of a run file and those it includes`);
    return Result.succeed(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    return Result.fail(error instanceof TypeError ? "is not UTF-8 text" : obstacle(error));
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
};
