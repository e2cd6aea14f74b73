/**
 * The learner in its own thread: the pipeline's `Learner` plus behaviour cloning. It starts from a checkpoint and sends new weights over
 * the generators' ports. The thread lives as long as its scope.
 */
import type { MessagePort } from "node:worker_threads";
import { type Context, Effect, Fiber, type Scope } from "effect";
import type { TokenBatch } from "../domain/Batch.ts";
import { LearnerError } from "../domain/Errors.ts";
import type { Checkpoint } from "../model/checkpoint/HuggingFaceFolder.ts";
import { make as makeThread, type Thread, type ThreadFailure } from "../model/runtime/Thread.ts";
import type { CloningReport } from "./CloningUpdate.ts";
import type { Learner } from "./Learner.ts";
import type { LearnerProtocol } from "./LearnerProtocol.ts";
import type { TrainerOptions } from "./TrainerOptions.ts";

export interface LearnerThreadOptions {
  /** Starting weights of the run with the files of their folder. A KL loss takes them as its reference. */
  readonly checkpoint: Checkpoint;
  readonly trainer: TrainerOptions;
  /** Folder written by `save` from which training resumes. */
  readonly restore?: string;
  /** Moves the starting weights into the thread instead of copying them; the caller's array becomes empty. */
  readonly moved?: boolean;
  /** One port per generator thread; the ports are transferred. */
  readonly ports?: readonly MessagePort[];
  /** Windows of a fixed lag; null, the default, without one. */
  readonly lag?: number | null;
  /** True if each version reaches the generators, also those that newer ones overtake. Default false; a fixed lag always does. */
  readonly sendsEach?: boolean;
  /** Returns before the thread has opened its models. Calls wait until it has, and `died` fails where it cannot. */
  readonly inBackground?: boolean;
}

export interface LearnerThread extends Context.Service.Shape<typeof Learner> {
  /** Takes one cloning step at learning rate `lr`. The batch's mask marks the targets. */
  readonly clone: (batch: TokenBatch, lr: number) => Effect.Effect<CloningReport, LearnerError>;
  /** Returns nats per target token under the current weights, or null for a batch without targets. */
  readonly cloningLoss: (batch: TokenBatch) => Effect.Effect<number | null, LearnerError>;
  /** Suspends until the thread is gone and then fails. */
  readonly died: Effect.Effect<never, LearnerError>;
}

const reasonOf = (failure: ThreadFailure): LearnerError["reason"] => {
  if (failure.reason === "thread_died") return "thread_died";
  const { code } = failure;
  // The death of a lane reaches this thread as a refused call.
  return code === "thread_died" || code === "bad_checkpoint" || code === "not_finite" || code === "refused"
    ? code
    : "session_failed";
};

export const learnerError = (failure: ThreadFailure): LearnerError =>
  new LearnerError({ reason: reasonOf(failure), message: failure.message, cause: failure.cause });

/** Wraps a started learner's thread, whose networks compute on `lanes` lanes. */
export const learnerOver = <Start, Event>(
  thread: Thread<LearnerProtocol<Start, Event>, LearnerError>,
  lanes: number,
): LearnerThread => ({
  update: (window) => thread.call("update", window),
  analyse: (tokens) => thread.call("analyse", tokens),
  clone: (batch, lr) => thread.call("clone", { batch, lr }),
  cloningLoss: (batch) => thread.call("cloningLoss", batch),
  score: (request) => thread.call("score", request),
  save: (folder) => Effect.asVoid(thread.call("save", folder)),
  version: thread.call("version", null),
  lanes: lanes === 1 ? null : { most: lanes, use: (count) => Effect.asVoid(thread.call("lanes", count)) },
  died: thread.died,
});

type LearnersThread = Thread<LearnerProtocol, LearnerError>;

/** The thread while `starting` goes on: calls wait for it, and its failure is the thread's. */
const afterStart = (thread: LearnersThread, starting: Fiber.Fiber<unknown, LearnerError>): LearnersThread => ({
  ...thread,
  call: (name, request, transfer) => Effect.andThen(Fiber.join(starting), thread.call(name, request, transfer)),
  died: Effect.raceFirst(thread.died, Effect.andThen(Fiber.join(starting), Effect.never)),
});

/** Starts the thread. Fails with LearnerError if the thread dies, a session refuses, or `restore` cannot be read. */
export const make = (options: LearnerThreadOptions): Effect.Effect<LearnerThread, LearnerError, Scope.Scope> =>
  Effect.gen(function* () {
    const thread = yield* makeThread<LearnerProtocol, LearnerError>({
      url: new URL("./worker.ts", import.meta.url),
      name: "learner",
      fail: learnerError,
    });
    const ports = options.ports ?? [];
    const { checkpoint, lag = null, sendsEach = false, trainer, restore = null } = options;
    const { buffer } = (checkpoint.adapter?.parameters ?? checkpoint.parameters).flat;
    const moved = options.moved === true && buffer instanceof ArrayBuffer ? [buffer] : [];
    const request = { checkpoint, lag, sendsEach, options: trainer, restore, ports };
    const start = thread.call("start", request, [...ports, ...moved]);
    if (options.inBackground === true) {
      const starting = yield* Effect.forkScoped(start, { startImmediately: true });
      return learnerOver(afterStart(thread, starting), trainer.lanes);
    }
    yield* start;
    return learnerOver(thread, trainer.lanes);
  });
