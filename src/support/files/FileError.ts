/**
 * The failure to read or write a file or folder: it is missing, the operating system refused, or its contents are damaged. The
 * message begins with the path, and `cause` is the original error.
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

/**
 * Explains a full disk near `path`. A file system can run out of inodes while it has bytes left, which tools for disk space do
 * not show.
 */
const fullDisk = (path: string): string => {
  try {
    const { bavail, ffree, files } = statfsSync(dirname(path));
    if (files > 0 && ffree === 0 && bavail > 0) {
      return "the file system has no inodes left, so no more files fit on it (ENOSPC); remove some files, as df -i shows";
    }
  } catch {
    // The folder is gone or cannot be read; the system's own code is enough.
  }
  return "the disk is full (ENOSPC)";
};

/** Codes of a system that has no room left for a file, or none for this user. */
const fullDiskCodes: readonly unknown[] = ["ENOSPC", "EDQUOT"];

/** True if a full disk or a used-up quota is the error, or among the causes that led to it. */
export const isFullDisk = (error: unknown): boolean => {
  const seen = new Set<unknown>();
  for (let cause = error; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
    if ("code" in cause && fullDiskCodes.includes(cause.code)) return true;
    seen.add(cause);
  }
  return false;
};

/** Turns any error about `path` into a `FileError`; a `FileError` passes through. */
export const fileError = (path: string, cause: unknown): FileError => {
  if (cause instanceof FileError) return cause;
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  if (code === "ENOENT") {
    return new FileError({ path, reason: "missing", message: `${path}: no such file or folder`, cause });
  }
  if (code === "ENOSPC")
    return new FileError({ path, reason: "refused", message: `${path}: ${fullDisk(path)}`, cause });
  if (code === "EDQUOT")
    return new FileError({ path, reason: "refused", message: `${path}: the disk quota is used up (EDQUOT)`, cause });
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new FileError({ path, reason: "refused", message: `${path}: ${detail}`, cause });
};

/** The contents at `path` differ from those that were written; `message` names the path. */
export const damaged = (path: string, message: string): FileError =>
  new FileError({ path, reason: "damaged", message, cause: undefined });
