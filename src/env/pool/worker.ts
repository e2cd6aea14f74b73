/**
 * The work of an environment thread: loads, binds and prepares its presets once, then answers batches, one answer per request. It holds no
 * state between batches. Invariant: no call of an environment ends the process, and only a fault of the thread itself ends the thread.
 */
import { setPriority } from "node:os";
import { Script } from "node:vm";
import { workerData } from "node:worker_threads";
import { guardProcess, unguardProcess } from "../../support/modules/processGuard.ts";
import type { BoundEnvironment } from "../contract/BoundEnvironment.ts";
import type { EnvironmentSpec, RegistryModule } from "../contract/Preset.ts";
import { prepare } from "../contract/prepare.ts";
import type { Answer, Request } from "../contract/Request.ts";
import { answer } from "./answer.ts";

export interface Setup {
  /** The URL of a `RegistryModule`. */
  readonly registry: string;
  readonly presets: Readonly<Record<string, EnvironmentSpec>>;
  /** One cell, in which the thread notes the index of the running request. */
  readonly position: Int32Array;
  /** One cell, in which all threads count errors outside of any request. */
  readonly strayErrors: Int32Array;
  /** The folder of compiled code; null where the process keeps none. */
  readonly compileCache: string | null;
}

export interface Batch {
  readonly requests: readonly Request[];
  /** The batch is interrupted after so many milliseconds; null lets it go on. */
  readonly interruptMs: number | null;
  /** The thread takes the lowest priority, for good. */
  readonly giveWay: boolean;
}

/** The answers and the milliseconds of the requests in order, up to the one that was interrupted. */
export interface BatchReply {
  readonly answers: readonly Answer[];
  readonly times: readonly number[];
  readonly interrupted: boolean;
}

const { position, presets, registry, strayErrors: strays } = workerData as Setup;

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
    // Presets are prepared one after the other: those of one environment read the same files, which the first has then loaded.
    await prepare(tag, decoded.success);
    bound.set(tag, decoded.success);
  }
  return bound;
};

/** Counts an error that an environment leaves behind (a timer that throws, a promise nobody waits for); it fails no request. */
const countStrayError = (error: unknown): void => {
  // The reply of a batch cannot be cloned. Throwing ends this thread, which tells the main thread.
  if (error instanceof Error && error.name === "DataCloneError") throw error;
  Atomics.add(strays, 0, 1);
  guardProcess();
};

guardProcess();
// Node itself ends a thread by `process.exit` where nobody handles an error.
process.on("uncaughtExceptionMonitor", unguardProcess);
const environments = await bindAll();
process.on("uncaughtException", countStrayError);
process.on("unhandledRejection", countStrayError);

let job: () => void = () => undefined;
const jobKey = "millrace/env/job";
Reflect.defineProperty(globalThis, Symbol.for(jobKey), { value: () => job() });
const script = new Script(`globalThis[Symbol.for(${JSON.stringify(jobKey)})]()`);

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";

/**
 * Runs `work`, and returns false if V8 had to interrupt it at the time limit, as in an endless loop. Its changes outside of itself are then
 * half done. A call costs a tenth of a millisecond.
 */
const endsWithin = (work: () => void, ms: number): boolean => {
  job = work;
  try {
    script.runInThisContext({ timeout: Math.max(1, Math.ceil(ms)) });
    return true;
  } catch (error) {
    if (isTimeout(error)) return false;
    throw error;
  }
};

/** On Linux this is the priority of the calling thread alone; other systems would slow the whole process. */
const giveWay = (): void => {
  if (process.platform === "linux") setPriority(19);
};

export default ({ giveWay: givesWay, interruptMs, requests }: Batch): BatchReply => {
  if (givesWay) giveWay();
  const answers: Answer[] = [];
  const times: number[] = [];
  const play = (): void => {
    let began = performance.now();
    for (const [at, request] of requests.entries()) {
      Atomics.store(position, 0, at);
      answers.push(answer(environments, request));
      const ended = performance.now();
      times.push(ended - began);
      began = ended;
    }
  };
  if (interruptMs === null) play();
  const interrupted = interruptMs !== null && !endsWithin(play, interruptMs);
  Atomics.store(position, 0, requests.length);
  return { answers, times, interrupted };
};
