/**
 * The address space that a run reserves by its threads, whatever they use of it: `ulimit -v` counts it. docs/run-file.md says how it was measured.
 */
import type { PlannedRun } from "./PlannedRun.ts";
import { threadsOf } from "./threadsOf.ts";

const GiB = 2 ** 30;

/** V8 reserves this for each WebAssembly memory, however small it is. */
const OF_WASM = 8 * GiB;
/** A thread reserves V8's code and heap and, from sources, the TypeScript loader's WebAssembly memory. */
const OF_THREAD = import.meta.url.endsWith(".ts") ? 8.4 * GiB : 0.57 * GiB;
/** A learner's sessions and its optimiser's kernel reserve this beyond its threads. */
const OF_LEARNER = 0.6 * GiB + OF_WASM;
/** The sampler's kernel reserves this beyond its thread. */
const OF_GENERATOR = OF_WASM;

/** Bytes that the threads of a run reserve, and how many these are. */
export const addressSpace = (run: Pick<PlannedRun, "config" | "pipeline">) => {
  const { generators, lanes, steps } = threadsOf(run);
  const threads = generators + lanes + steps;
  const bytes = threads * OF_THREAD + generators * OF_GENERATOR + (lanes === 0 ? 0 : OF_LEARNER);
  return { threads, bytes };
};
