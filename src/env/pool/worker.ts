/**
 * The work of an environment thread: loads, binds and prepares its presets once, then answers batches, one answer per request. It holds no
 * state between batches. Before each request it notes where it is and the time, by which the main thread finds the one that hangs or ends
 * the thread. Invariant: no call of an environment ends the process, and only a fault of the thread itself ends the thread.
 */
import { readlinkSync } from "node:fs";
import { workerData } from "node:worker_threads";
import type { BoundEnvironment } from "../BoundEnvironment.ts";
import { intrinsics } from "../custom/intrinsics.ts";
import { guardProcess, unguardProcess } from "../custom/processGuard.ts";
import { prepare } from "../prepare.ts";
import { type Answer, type Request, stepFailure } from "../Request.ts";
import type { decodePreset, loadRegistry, PresetFrame } from "../registry.ts";
import { answer } from "./answer.ts";
import { Cells } from "./cells.ts";
import { finishes } from "./interruptible.ts";

export interface Setup {
  /** URL of a module that exports `loadRegistry` and `decodePreset`. */
  readonly registry: string;
  readonly presets: Readonly<Record<string, PresetFrame>>;
  /** Memory of the thread's cells. */
  readonly cells: Int32Array;
  /** Folder of compiled code; null where the process keeps none. */
  readonly compileCache: string | null;
}

export interface Batch {
  readonly requests: readonly Request[];
  /** Each answer is checked to be one that can be sent. */
  readonly careful: boolean;
  /** When it was sent. */
  readonly epoch: number;
  /** A request is interrupted after so many milliseconds; null lets it go on. */
  readonly limitMs: number | null;
}

/** In place of the answer of a request that was interrupted. */
export type Interrupted = "interrupted";

/** The answers to the first requests, to all unless the batch was cut, and the milliseconds that each took. */
export interface Reply {
  readonly answers: readonly (Answer | Interrupted)[];
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
  guardProcess();
};

nameThread();
guardProcess();
// Node itself ends a thread by `process.exit` where nobody handles an error.
process.on("uncaughtExceptionMonitor", unguardProcess);
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

/** A batch as far as it has been answered, so that it can go on after an interruption. */
class Progress implements Reply {
  readonly answers: (Answer | Interrupted)[] = [];
  readonly times: number[] = [];
  readonly #requests: readonly Request[];
  readonly #careful: boolean;
  #at = 0;
  #began = now.call(performance);

  constructor(requests: readonly Request[], careful: boolean) {
    this.#requests = requests;
    this.#careful = careful;
  }

  #next(answer: Answer | Interrupted): void {
    const time = now.call(performance);
    this.answers[this.#at] = answer;
    this.times[this.#at] = time - this.#began;
    this.#began = time;
    this.#at++;
  }

  /** No method of a global's prototype is called in the loop: an environment may have changed it. */
  readonly play = (): void => {
    while (this.#at < this.#requests.length && !cells.isCut()) {
      cells.begin(this.#at);
      this.#next(answered(this.#requests[this.#at]!, this.#careful));
    }
  };

  /** The request at hand had all of its time, unless those before it had most of it: then it begins again. */
  interrupted(limitMs: number): void {
    const spent = now.call(performance) - this.#began;
    if (spent >= limitMs * 0.9) this.#next("interrupted");
    else this.#began = now.call(performance);
  }
}

export default ({ careful, epoch, limitMs, requests }: Batch): Reply => {
  cells.received(epoch);
  if (++batches % lookEvery === 0) globals.restore();
  const progress = new Progress(requests, careful);
  if (limitMs === null) progress.play();
  else while (!finishes(progress.play, limitMs)) progress.interrupted(limitMs);
  cells.end();
  return { answers: progress.answers, times: progress.times };
};
