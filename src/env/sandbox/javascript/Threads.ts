/**
 * Runs JavaScript jobs in threads. A thread whose test exceeds its time is ended, and the next tests run in another. Invariants: interrupting
 * a job ends its thread at once, and an idle thread does not keep the process alive.
 */
import { Worker } from "node:worker_threads";
import { Effect } from "effect";
import {
  completeReport,
  failed,
  type Job,
  type Outcome,
  type Report,
  SandboxError,
  startMs,
  wallClockFactor,
} from "../Job.ts";
import { threadStackMb } from "./Interpreter.ts";
import type { Message, Order } from "./protocol.ts";

const idleThreads: Worker[] = [];
/** The most threads that stay idle for a later job. */
const maxIdle = 4;
/** The interpreter ends a late test itself; the main thread waits so many milliseconds more before it ends the thread. */
const graceMs = 500;

const start = (): Worker =>
  new Worker(new URL("./worker.ts", import.meta.url), {
    name: "interpreter",
    env: {},
    resourceLimits: { stackSizeMb: threadStackMb, maxOldGenerationSizeMb: 256 },
  });

/** Puts a thread among the idle ones, which do not keep the process alive. */
const makeIdle = (thread: Worker): void => {
  thread.removeAllListeners();
  if (idleThreads.length === maxIdle) return void thread.terminate();
  thread.unref();
  thread.on("error", () => forget(thread));
  thread.on("exit", () => forget(thread));
  idleThreads.push(thread);
};

const forget = (thread: Worker): void => {
  const at = idleThreads.indexOf(thread);
  if (at >= 0) idleThreads.splice(at, 1);
};

const takeThread = (): Worker => {
  const thread = idleThreads.pop() ?? start();
  thread.removeAllListeners();
  thread.ref();
  return thread;
};

/** The outcome of an order in one thread. */
type OrderOutcome =
  | { readonly _tag: "Uncompilable"; readonly message: string }
  | { readonly _tag: "Done" }
  /** The main thread ended a test together with its thread. */
  | { readonly _tag: "Lost"; readonly outcome: Outcome };

/** The time by which a job's tests must have run. */
interface Deadline {
  /** A time of `performance.now()`; null until the job's first test begins. */
  at: number | null;
}

/** Runs a job's tests from `order.from` on in one thread, and appends each outcome to `outcomes`. */
const runOrder = (order: Order, outcomes: Outcome[], deadline: Deadline): Effect.Effect<OrderOutcome, SandboxError> =>
  Effect.callback<OrderOutcome, SandboxError>((resume) => {
    const { limits } = order.job;
    const thread = takeThread();
    let hasBegun = false;
    let timer: NodeJS.Timeout | undefined;

    const watch = (ms: number, late: () => void): void => {
      clearTimeout(timer);
      timer = setTimeout(late, Math.max(0, ms));
    };
    /** Ends the thread, and completes when it is gone. */
    const dispose = Effect.promise(() => {
      clearTimeout(timer);
      thread.removeAllListeners();
      thread.on("error", () => undefined);
      return thread.terminate();
    });
    const disposeThen = (end: Effect.Effect<OrderOutcome, SandboxError>): void => resume(Effect.andThen(dispose, end));
    const loseThread = (outcome: Outcome): void => disposeThen(Effect.succeed({ _tag: "Lost", outcome }));
    const onBroken = (message: string): void => {
      // Before the first test begins nothing of the submission has run, so the fault is the interpreter's.
      if (hasBegun) loseThread(failed("error", message));
      else disposeThen(Effect.fail(new SandboxError({ message: `the interpreter does not start: ${message}` })));
    };

    thread.on("error", (error) => onBroken(error instanceof Error ? error.message : String(error)));
    thread.on("exit", (code) => onBroken(`its thread ended (${code})`));
    thread.on("message", (message: Message) => {
      switch (message._tag) {
        case "Began": {
          hasBegun = true;
          deadline.at ??= performance.now() + limits.totalMs;
          const left = Math.min(wallClockFactor * limits.testMs + graceMs, deadline.at - performance.now());
          return watch(left, () => loseThread(failed("timeout", `more than ${limits.testMs} ms`)));
        }
        case "Ended":
          outcomes.push(message.outcome);
          return;
        default:
          clearTimeout(timer);
          makeIdle(thread);
          resume(Effect.succeed(message));
      }
    });
    watch(startMs, () => onBroken(`no answer after ${startMs} ms`));
    thread.postMessage(order);
    return dispose;
  });

/** Runs a job's tests. The tests after one that loses its thread run in another thread, unless the job has `stopAtTimeout`. */
export const run = (job: Job): Effect.Effect<Report, SandboxError> =>
  Effect.gen(function* () {
    const outcomes: Outcome[] = [];
    const deadline: Deadline = { at: null };
    for (;;) {
      const end = yield* runOrder({ job, from: outcomes.length }, outcomes, deadline);
      if (end._tag === "Uncompilable") return end;
      if (end._tag === "Lost") outcomes.push(end.outcome);
      const isOver = end._tag === "Done" || job.stopAtTimeout || performance.now() >= (deadline.at ?? 0);
      if (isOver || outcomes.length === job.inputs.length) return completeReport(job, outcomes);
    }
  });
