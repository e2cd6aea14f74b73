/**
 * Runs JavaScript jobs in threads. A thread whose test exceeds its time is ended, and the next tests run in another. Invariants: interrupting
 * a job ends its thread at once, and an idle thread does not keep the process alive.
 */
import { Worker } from "node:worker_threads";
import { Effect } from "effect";
import {
  clockFactor,
  completeReport,
  failed,
  type Job,
  type Outcome,
  type Report,
  SandboxError,
  startMs,
} from "../Job.ts";
import { threadStackMb } from "./Interpreter.ts";
import type { Message, Order } from "./protocol.ts";

const idleWorkers: Worker[] = [];
/** The most threads that stay idle for a later job. */
const maxIdle = 4;
/** The main thread waits so many milliseconds beyond a test's own limits. */
const graceMs = 500;

const start = (): Worker =>
  new Worker(new URL("./worker.ts", import.meta.url), {
    name: "interpreter",
    env: {},
    resourceLimits: { stackSizeMb: threadStackMb, maxOldGenerationSizeMb: 256 },
  });

/** Puts a thread among the idle ones, which do not keep the process alive. */
const makeIdle = (worker: Worker): void => {
  worker.removeAllListeners();
  if (idleWorkers.length === maxIdle) return void worker.terminate();
  worker.unref();
  worker.on("error", () => forget(worker));
  worker.on("exit", () => forget(worker));
  idleWorkers.push(worker);
};

const forget = (worker: Worker): void => {
  const at = idleWorkers.indexOf(worker);
  if (at >= 0) idleWorkers.splice(at, 1);
};

const takeWorker = (): Worker => {
  const worker = idleWorkers.pop() ?? start();
  worker.removeAllListeners();
  worker.ref();
  return worker;
};

/** The end of an order in one thread. */
type OrderEnd =
  | { readonly _tag: "Uncompilable"; readonly message: string }
  | { readonly _tag: "Done" }
  /** The main thread ended a test together with its thread. */
  | { readonly _tag: "Lost"; readonly outcome: Outcome };

/** The end of a job's time. */
interface Deadline {
  /** A time of `performance.now()`; null until the job's first test begins. */
  at: number | null;
}

/** Runs the tests of an order in one thread and appends each outcome to `outcomes`. */
const runOrder = (order: Order, outcomes: Outcome[], deadline: Deadline): Effect.Effect<OrderEnd, SandboxError> =>
  Effect.callback<OrderEnd, SandboxError>((resume) => {
    const { limits } = order.job;
    const worker = takeWorker();
    let hasBegun = false;
    let timer: NodeJS.Timeout | undefined;

    const watch = (ms: number, late: () => void): void => {
      clearTimeout(timer);
      timer = setTimeout(late, Math.max(0, ms));
    };
    /** Ends the thread, and completes when it is gone. */
    const dispose = Effect.promise(() => {
      clearTimeout(timer);
      worker.removeAllListeners();
      worker.on("error", () => undefined);
      return worker.terminate();
    });
    const disposeThen = (end: Effect.Effect<OrderEnd, SandboxError>): void => resume(Effect.andThen(dispose, end));
    const loseThread = (outcome: Outcome): void => disposeThen(Effect.succeed({ _tag: "Lost", outcome }));
    const onBroken = (message: string): void => {
      // Before the first test begins nothing of the submission has run, so the fault is the interpreter's.
      if (hasBegun) loseThread(failed("error", message));
      else disposeThen(Effect.fail(new SandboxError({ message: `the interpreter does not start: ${message}` })));
    };

    worker.on("error", (error) => onBroken(error instanceof Error ? error.message : String(error)));
    worker.on("exit", (code) => onBroken(`its thread ended (${code})`));
    worker.on("message", (message: Message) => {
      switch (message._tag) {
        case "Began": {
          hasBegun = true;
          deadline.at ??= performance.now() + limits.totalMs;
          const left = Math.min(clockFactor * limits.testMs + graceMs, deadline.at - performance.now());
          return watch(left, () => loseThread(failed("timeout", `more than ${limits.testMs} ms`)));
        }
        case "Ended":
          outcomes.push(message.outcome);
          return;
        default:
          clearTimeout(timer);
          makeIdle(worker);
          resume(Effect.succeed(message));
      }
    });
    watch(startMs, () => onBroken(`no answer after ${startMs} ms`));
    worker.postMessage(order);
    return dispose;
  });

export const run = (job: Job): Effect.Effect<Report, SandboxError> =>
  Effect.gen(function* () {
    const outcomes: Outcome[] = [];
    const deadline: Deadline = { at: null };
    for (;;) {
      const end = yield* runOrder({ job, from: outcomes.length }, outcomes, deadline);
      if (end._tag === "Uncompilable") return end;
      if (end._tag === "Lost") outcomes.push(end.outcome);
      const over = end._tag === "Done" || job.stopAtTimeout || performance.now() >= (deadline.at ?? 0);
      if (over || outcomes.length === job.inputs.length) return completeReport(job, outcomes);
    }
  });
