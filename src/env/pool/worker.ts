/**
 * The work of an environment thread: loads, binds and prepares its presets once, then answers batches, one answer per request. It holds no
 * state between batches. Before each request it notes where it is and the time, by which the main thread finds the one that hangs or ends
 * the thread. Invariant: no call of an environment ends the process, and only a fault of the thread itself ends the thread.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { workerData } from "node:worker_threads";
import type { BoundEnvironment } from "../contract/BoundEnvironment.ts";
import type { PresetFrame, RegistryModule } from "../contract/Preset.ts";
import { prepare } from "../contract/prepare.ts";
import { type Answer, type Request, stepFailure } from "../contract/Request.ts";
import { guardProcess, unguardProcess } from "../custom/processGuard.ts";
import { answer } from "./answer.ts";
import { Cells } from "./cells.ts";
import { finishes } from "./interruptible.ts";

export interface Setup {
  /** URL of a `RegistryModule`. */
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
  /** One that was interrupted while the machine was busy with others begins again, with more time. */
  readonly again: boolean;
}

/** How a batch is to be answered. */
export type How = Pick<Batch, "careful" | "limitMs" | "again">;

/** In place of the answer of a request that was interrupted. */
export interface Interrupted {
  readonly _tag: "Interrupted";
  /** What it had of a processor; null where that is not known. */
  readonly cpuMs: number | null;
  /** How long it could have run and others did instead; null where that is not known. A step that blocks waits for nobody. */
  readonly deprivedMs: number | null;
}

/** The answers to the first requests, to all unless the batch was cut, and the milliseconds that each took. */
export interface Reply {
  readonly answers: readonly (Answer | Interrupted)[];
  readonly times: readonly number[];
}

const { cells: memory, presets, registry } = workerData as Setup;
const cells = new Cells(memory);

/** Milliseconds of a processor that this thread had; null where Node does not say (before 23.9). */
const cpuMs = (): number | null => {
  if (process.threadCpuUsage === undefined) return null;
  const { system, user } = process.threadCpuUsage();
  return (system + user) / 1000;
};

/** Milliseconds that this thread could run and had no processor; null where the system does not say (Linux does). */
const deprivedMs = (): number | null => {
  try {
    const [, delay] = readFileSync("/proc/thread-self/schedstat", "utf8").split(" ");
    return Number(delay) / 1e6;
  } catch {
    return null;
  }
};

/** Where Linux shows the thread's own id. */
const nameThread = (): void => {
  // Without it, nobody could tell whether a thread that gave way had any time.
  if (cpuMs() === null) return;
  try {
    cells.named(Number(readlinkSync("/proc/thread-self").split("/").at(-1)));
  } catch {
    // Another system: the thread keeps its priority.
  }
};

const bindAll = async (): Promise<ReadonlyMap<string, BoundEnvironment>> => {
  const module: RegistryModule = await import(registry);
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

/** What a request has when it begins again, in limits. */
const patience = 4;

const sendable = (answered: Answer): Answer => {
  try {
    structuredClone(answered);
    return answered;
  } catch (cause) {
    return stepFailure("step_crashed", `its state cannot be sent to another thread: ${String(cause)}`);
  }
};

const answered = (request: Request, careful: boolean): Answer => {
  const given = answer(environments, request);
  return careful ? sendable(given) : given;
};

const difference = (after: number | null, before: number | null): number | null =>
  after === null || before === null ? null : after - before;

/** A batch as far as it has been answered, so that it can go on after an interruption. */
class Progress implements Reply {
  readonly answers: (Answer | Interrupted)[] = [];
  readonly times: number[] = [];
  readonly #batch: Batch;
  #at = 0;
  #began = performance.now();
  #beganCpu: number | null = null;
  /** Since the batch, or the last interruption: a system call for each request would cost more than most of them. */
  #beganDeprived: number | null = null;
  /** The request at hand was interrupted before, and begins again. */
  #repeated = false;

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  #next(answer: Answer | Interrupted): void {
    const time = performance.now();
    this.answers[this.#at] = answer;
    this.times[this.#at] = time - this.#began;
    this.#began = time;
    this.#repeated = false;
    this.#at++;
  }

  readonly play = (): void => {
    const { careful, limitMs, requests } = this.#batch;
    while (this.#at < requests.length && !cells.isCut()) {
      cells.begin(this.#at);
      if (limitMs !== null) this.#beganCpu = cpuMs();
      this.#next(answered(requests[this.#at]!, careful));
    }
  };

  /** Plays all, and interrupts each request that takes longer than the limit. */
  playWithin(limitMs: number): void {
    this.#beganDeprived = deprivedMs();
    while (!finishes(this.play, this.#repeated ? limitMs * patience : limitMs)) this.#interrupted(limitMs);
  }

  /** The request at hand begins again where those before it had most of its time, or others most of the machine's. */
  #interrupted(limitMs: number): void {
    const time = performance.now();
    const cpu = difference(cpuMs(), this.#beganCpu);
    const waitedMs = deprivedMs();
    const waited = difference(waitedMs, this.#beganDeprived);
    this.#beganDeprived = waitedMs;
    const inCompany = time - this.#began < limitMs * 0.9;
    const deprived = waited === null ? cpu !== null && cpu < limitMs / 10 : waited > limitMs / 2;
    if (inCompany || (this.#batch.again && deprived && !this.#repeated)) {
      this.#repeated ||= !inCompany;
      this.#began = time;
    } else this.#next({ _tag: "Interrupted", cpuMs: cpu, deprivedMs: waited });
  }
}

export default (batch: Batch): Reply => {
  cells.received(batch.epoch);
  const progress = new Progress(batch);
  if (batch.limitMs === null) progress.play();
  else progress.playWithin(batch.limitMs);
  cells.end();
  return { answers: progress.answers, times: progress.times };
};
