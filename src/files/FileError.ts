/**
 * The failure of reading or writing a file or folder: which one, whether it is missing, the operating system refused, or what it holds is
 * not what was written, and a message that begins with the path. `cause` is what was thrown.
 */
import { Schema } from "effect";

export class FileError extends Schema.TaggedError<FileError>()("FileError", {
  path: Schema.String,
  reason: Schema.Literals(["missing", "refused", "damaged"]),
  message: Schema.String,
  cause: Schema.Defect(),
}) {}

/** What was thrown while working on `path`, as a `FileError`; one already made passes through. */
export const fileError = (path: string, cause: unknown): FileError => {
  if (cause instanceof FileError) return cause;
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  if (code === "ENOENT") {
    return new FileError({ path, reason: "missing", message: `${path}: no such file or folder`, cause });
  }
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new FileError({ path, reason: "refused", message: `${path}: ${detail}`, cause });
};

/** What is at `path` is not what was written there; `message` names the path. */
export const damaged = (path: string, message: string): FileError =>
  new FileError({ path, reason: "damaged", message, cause: undefined });
