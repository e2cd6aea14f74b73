/**
 * The address space that a run reserves by its threads, whatever they use of it: `ulimit -v` counts it. docs/run-file.md says how it was measured.
 */
import type { PlannedRun } from "./PlannedRun.ts";
import { threadsOf } from "./threadsOf.ts";

const GiB = 2 ** 30;

/** A thread reserves guarded WebAssembly memory (of the TypeScript loader, from sources) and V8's code and heap. */
const OF_THREAD = import.meta.url.endsWith(".ts") ? 8.4 * GiB : 0.57 * GiB;
/** A learner's sessions reserve this beyond its threads. */
const OF_LEARNER = 0.6 * GiB;

/** Bytes that the threads of a run reserve, and how many these are. */
export const addressSpace = (run: Pick<PlannedRun, "config" | "pipeline">) => {
  const { generators, lanes, steps } = threadsOf(run);
  const threads = generators + lanes + steps;
  return { threads, bytes: threads * OF_THREAD + (lanes === 0 ? 0 : OF_LEARNER) };
};
