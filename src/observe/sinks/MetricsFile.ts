/**
 * The sink of record: `metrics.jsonl`, one flat object `{"step","time",…metrics}` a step, the source of truth for every other view. It is
 * the one sink that may hold the run, and ends it where it cannot write. Invariants: each line is handed to the system before the step counts as recorded; after a resume
 * the steps that will be done again are cut off, so no step appears twice. A number that is not finite is written as null.
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

/** Writes to `path`, which is made if it is not there. */
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
        // A file that was removed is written all the same, by its handle, and is lost at the end.
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
