/**
 * The failure of reading or writing model files: which file, what kind of fault, and a sentence that names the tensor or the key
 * and what is supported instead. Pipelines report it as bad input, since the files are the user's.
 */
import { Schema } from "effect";
import { FileError, isFullDisk } from "../../support/files/FileError.ts";

export const reasons = [
  "missing_file",
  "not_readable", // the operating system refused: permissions, disk full, a folder in place of a file
  "truncated",
  "bad_header",
  "bad_offsets",
  "unknown_dtype",
  "missing_tensor",
  "unexpected_tensor",
  "wrong_shape",
  "not_finite", // a value is NaN or infinite, or negative where none can be
  "overflow", // a finite value does not fit the number format asked for
  "bad_config",
  "unsupported", // well-formed, but another architecture or layout than this program trains
] as const;

export class CheckpointError extends Schema.TaggedError<CheckpointError>()("CheckpointError", {
  path: Schema.String,
  reason: Schema.Literals(reasons),
  message: Schema.String,
  /** The system's error where the system refused. */
  cause: Schema.optionalKey(Schema.Defect()),
}) {}

/** An error of `reason` about `path`; the message opens with the path, so that it reads alone. */
export const checkpointError = (path: string, reason: (typeof reasons)[number], detail: string): CheckpointError =>
  new CheckpointError({ path, reason, message: `${path}: ${detail}` });

const refused = (path: string, message: string, cause: unknown): CheckpointError =>
  new CheckpointError({ path, reason: "not_readable", message, cause });

/** Turns a failed write into a `CheckpointError`. */
export const fromFileError = (error: FileError): CheckpointError => fromUnknown(error.path, error);

/** Turns the operating system's error into a `CheckpointError`; an existing one passes through. */
export const fromUnknown = (path: string, cause: unknown): CheckpointError => {
  if (cause instanceof CheckpointError) return cause;
  if (cause instanceof FileError && cause.reason === "damaged") {
    return new CheckpointError({ path: cause.path, reason: "not_readable", message: cause.message });
  }
  if (cause instanceof FileError && isFullDisk(cause)) return refused(cause.path, cause.message, cause.cause);
  if (cause instanceof FileError) return fromUnknown(cause.path, cause.cause);
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  if (code === "ENOENT") return checkpointError(path, "missing_file", "no such file or folder");
  return refused(path, `${path}: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
};
