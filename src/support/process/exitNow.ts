/**
 * Ends the process at once. Ending it in Node's own way stops the worker threads, and a thread that is inside native code then ends the
 * process with SIGABRT. Where the platform can, the process is replaced by a shell that exits instead, which no thread takes part in.
 */
import { existsSync } from "node:fs";
import { flushCompileCache } from "node:module";

const shell = "/bin/sh";

/** Ends the process with `code`, after its `exit` listeners, whatever its threads are doing. What waits to be written is lost. */
export const exitNow = (code: number): never => {
  process.emit("exit", code);
  flushCompileCache();
  if (process.platform !== "win32" && existsSync(shell)) process.execve?.(shell, ["sh", "-c", `exit ${code}`], {});
  return process.exit(code);
};
