/**
 * Ends the process at once. A plain exit stops the worker threads, and a thread inside native code then ends the process with
 * SIGABRT. So a shell replaces the process and exits, if the platform can do that.
 */
import { existsSync } from "node:fs";
import { flushCompileCache } from "node:module";

const shell = "/bin/sh";

/** Ends the process with `code` after its `exit` listeners, whatever its threads are doing. Unwritten output is lost. */
export const exitNow = (code: number): never => {
  process.emit("exit", code);
  flushCompileCache();
  if (process.platform !== "win32" && existsSync(shell)) process.execve?.(shell, ["sh", "-c", `exit ${code}`], {});
  return process.exit(code);
};
