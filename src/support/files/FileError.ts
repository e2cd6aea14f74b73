/**
 * The failure of reading or writing a file or folder: which one, whether it is missing, the operating system refused, or what it holds is
 * not what was written, and a message that begins with the path. `cause` is what was thrown.
 */
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { Schema } from "effect";

export class FileError extends Schema.TaggedError<FileError>()("FileError", {
  path: Schema.String,
  reason: Schema.Literals(["missing", "refused", "damaged"]),
  message: Schema.String,
  cause: Schema.Defect(),
}) {}

/** Why nothing more can be written near `path`. A file system can have bytes left and no inodes, which tools for disk space do not show. */
const fullDisk = (path: string): string => {
  try {
    const { bavail, ffree, files } = statfsSync(dirname(path));
    if (files > 0 && ffree === 0 && bavail > 0) {
      return "the file system has no inodes left, so no more files fit on it (ENOSPC); remove some files, as df -i shows";
    }
  } catch {
    // The folder is gone or cannot be asked; the system's own code says enough.
  }
  return "the disk is full (ENOSPC)";
};

/** What was thrown while working on `path`, as a `FileError`; one already made passes through. */
export const fileError = (path: string, cause: unknown): FileError => {
  if (cause instanceof FileError) return cause;
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  if (code === "ENOENT") {
    return new FileError({ path, reason: "missing", message: `${path}: no such file or folder`, cause });
  }
  if (code === "ENOSPC")
    return new FileError({ path, reason: "refused", message: `${path}: ${fullDisk(path)}`, cause });
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new FileError({ path, reason: "refused", message: `${path}: ${detail}`, cause });
};

/** What is at `path` is not what was written there; `message` names the path. */
export const damaged = (path: string, message: string): FileError =>
  new FileError({ path, reason: "damaged", message, cause: undefined });
