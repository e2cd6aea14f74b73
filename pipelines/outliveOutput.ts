/**
 * Handles a standard output or error that can no longer be written, as when its reader has gone. A command that stops
 * in order goes on without it; a command whose purpose is its output ends without a message.
 */
export const outliveOutput = (goesOn: boolean): void => {
  const gone = ({ code }: NodeJS.ErrnoException): unknown => goesOn || process.exit(code === "EPIPE" ? 0 : 1);
  for (const output of [process.stdout, process.stderr]) {
    // Every thread's output is piped to it, and listens.
    output.setMaxListeners(0);
    output.on("error", gone);
  }
};
