/**
 * The sink of record: `metrics.jsonl`, one flat object `{"step","time",…metrics}` a step, the source for every other view. It
 * alone may hold the run, and it ends the run if it cannot write. Invariants: a step counts as recorded once the system has its
 * line. After a resume, repeated steps are cut off, so no step appears twice. A number that is not finite is written as null.
 */
import { type FileHandle, open, stat } from "node:fs/promises";
import { Effect } from "effect";
import type { StepRecord } from "../../domain/Event.ts";
import { toRecord } from "../../domain/metrics/Metrics.ts";
import { setAsideMessage, truncateAfterStep } from "../../support/files/JsonLines.ts";
import { type Sink, SinkError } from "./Sink.ts";

export const line = ({ step, time, metrics }: StepRecord): string =>
  `${JSON.stringify({ step, time, ...toRecord(metrics) })}\n`;

const name = "metrics.jsonl";

/** Writes to `path`, and makes the file if it is missing. */
export const make = (path: string): Sink => {
  let file: FileHandle | null = null;
  const attempt = <A>(what: string, run: () => Promise<A>): Effect.Effect<A, SinkError> =>
    Effect.tryPromise({
      try: run,
      catch: (cause) => new SinkError({ sink: name, message: `cannot ${what} ${path}: ${reason(cause)}` }),
    });
  return {
    name,
    essential: true,
    open: ({ from }) =>
      Effect.gen(function* () {
        const lines = yield* attempt("trim", () => truncateAfterStep(path, from));
        if (lines > 0) yield* Effect.logWarning(setAsideMessage(path, lines));
        file = yield* attempt("open", () => open(path, "a"));
      }),
    step: (record) =>
      attempt("write", async () => {
        await file?.appendFile(line(record));
        // A removed file is still written through its handle, and would be lost at the end.
        await stat(path).catch(() => {
          throw new Error("the file was removed while the run went on");
        });
      }),
    close: () =>
      attempt("close", async () => {
        await file?.datasync();
        await file?.close();
        file = null;
      }),
  };
};

const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
