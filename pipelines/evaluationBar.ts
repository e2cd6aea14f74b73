/** The progress of an evaluation on standard error: a bar on a terminal, a line for every tenth elsewhere. */
import process from "node:process";
import { Console, Effect } from "effect";
import { type Output, progressBar } from "../src/support/process/ProgressBar.ts";
import type { Standing } from "../src/tools/evaluation/Session.ts";

/** Shows a standing, as long as the scope lives. */
export const evaluationBar = Effect.fnUntraced(function* (name: string) {
  const console = yield* Console.Console;
  const terminal = process.stderr.isTTY;
  const lines: Output = {
    write: (line: string | Uint8Array) => {
      console.error(String(line).trimEnd());
      return true;
    },
  };
  const bar = yield* Effect.acquireRelease(
    Effect.sync(() => progressBar(terminal ? process.stderr : lines)),
    ({ close }) => Effect.sync(close),
  );
  return ({ failed, finished, planned }: Standing): void => {
    const done = finished.length + failed.length;
    const step = terminal ? 1 : Math.max(1, Math.ceil(planned / 10));
    const shown = done === planned ? done : Math.floor(done / step) * step;
    if (shown > 0) bar.show(shown / planned, `${name}: ${shown} of ${planned} episodes`);
  };
});
