/**
 * Entry of an environment thread: loads, binds and prepares its presets once, then answers batches, one answer per request. It holds no
 * state between batches. Before each request it notes where it is and the time, by which the main thread finds the one that hangs or ends
 * the thread. Invariant: no call of an environment ends the process, and only a fault of the thread itself ends the thread.
 */
import { readlinkSync } from "node:fs";
import { workerData } from "node:worker_threads";
import type { BoundEnvironment } from "../BoundEnvironment.ts";
import { intrinsics } from "../custom/intrinsics.ts";
import { guardProcess } from "../custom/processGuard.ts";
import { prepare } from "../prepare.ts";
import { type Answer, type Request, stepFailure } from "../Request.ts";
import type { decodePreset, loadRegistry, PresetFrame } from "../registry.ts";
import { answer } from "./answer.ts";
import { Cells } from "./cells.ts";

export interface Setup {
  /** URL of a module that exports `loadRegistry` and `decodePreset`. */
  readonly registry: string;
  readonly presets: Readonly<Record<string, PresetFrame>>;
  /** Memory of the thread's cells. */
  readonly cells: Int32Array;
}

export interface Batch {
  readonly requests: readonly Request[];
  /** Each answer is checked to be one that can be sent. */
  readonly careful: boolean;
  /** When it was sent. */
  readonly epoch: number;
}

/** The answers to the first requests, to all unless the batch was cut, and the milliseconds that each took. */
export interface Reply {
  readonly answers: readonly Answer[];
  readonly times: readonly number[];
}

const { cells: memory, presets, registry } = workerData as Setup;
const cells = new Cells(memory);
const { now } = performance;

/** Where Linux shows the thread's own id. */
const nameThread = (): void => {
  try {
    cells.named(Number(readlinkSync("/proc/thread-self").split("/").at(-1)));
  } catch {
    // Another system: the thread keeps its priority.
  }
};

const bindAll = async (): Promise<ReadonlyMap<string, BoundEnvironment>> => {
  const module: { readonly loadRegistry: typeof loadRegistry; readonly decodePreset: typeof decodePreset } =
    await import(registry);
  const loaded = await module.loadRegistry(Object.values(presets).map(({ env_type }) => env_type));
  const bound = new Map<string, BoundEnvironment>();
  for (const [tag, preset] of Object.entries(presets)) {
    const decoded = module.decodePreset(tag, preset, loaded);
    if (decoded._tag === "Failure") {
      const why = decoded.failure._tag === "UnusableModule" ? `: ${decoded.failure.reason}` : "";
      throw new Error(`${decoded.failure.path.join(".")} cannot be used${why}`);
    }
    if (decoded.success.asynchronous) throw new Error(`${tag} is asynchronous, so no thread can play it`);
    // One after the other: presets of one environment read the same files, which the first then has loaded.
    await prepare(tag, decoded.success);
    bound.set(tag, decoded.success);
  }
  return bound;
};

/** What an environment leaves behind (a timer, a promise nobody waits for) fails no step; it is counted. */
const outlive = (error: unknown): void => {
  // The answer of a batch: the main thread learns of it by the end of this one.
  if (error instanceof Error && error.name === "DataCloneError") throw error;
  cells.strayed();
  release = guardProcess();
};

nameThread();
let release = guardProcess();
// Node itself ends a thread by `process.exit` where nobody handles an error.
process.on("uncaughtExceptionMonitor", () => release());
const environments = await bindAll();
process.on("uncaughtException", outlive);
process.on("unhandledRejection", outlive);
const globals = intrinsics();

/** Batches between two looks at the globals. */
const lookEvery = 256;
let batches = 0;

const sendable = (answered: Answer): Answer => {
  try {
    structuredClone(answered);
    return answered;
  } catch (cause) {
    return stepFailure("step_crashed", `its state cannot be sent to another thread: ${String(cause)}`);
  }
};

/** A step that fails may do so because one before it changed what all code uses: it is then repeated over restored globals. */
const answered = (request: Request, careful: boolean): Answer => {
  let given = answer(environments, request);
  if (given._tag === "StepFailure" && globals.restore()) given = answer(environments, request);
  return careful ? sendable(given) : given;
};

export default ({ careful, epoch, requests }: Batch): Reply => {
  cells.received(epoch);
  if (++batches % lookEvery === 0) globals.restore();
  const answers: Answer[] = [];
  const times: number[] = [];
  let before = now.call(performance);
  // No method of a global's prototype in the loop: an environment may have changed it.
  for (let at = 0; at < requests.length && !cells.isCut(); at++) {
    cells.begin(at);
    answers[at] = answered(requests[at]!, careful);
    const after = now.call(performance);
    times[at] = after - before;
    before = after;
  }
  cells.end();
  return { answers, times };
};
