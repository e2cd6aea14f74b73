/**
 * The learner in its thread, as the pipeline's `Learner` and with behaviour cloning beside it. It starts from a checkpoint and sends new
 * weights over the generators' ports. The thread lives as long as its scope.
 */
import type { MessagePort } from "node:worker_threads";
import { type Context, Effect, type Scope } from "effect";
import type { TokenBatch } from "../domain/Batch.ts";
import { LearnerError } from "../domain/Errors.ts";
import type { Checkpoint } from "../model/checkpoint/HuggingFaceFolder.ts";
import { make as makeThread, type Thread, type ThreadFailure } from "../model/runtime/Thread.ts";
import type { CloningReport } from "./CloningUpdate.ts";
import type { Learner } from "./Learner.ts";
import type { LearnerProtocol } from "./LearnerProtocol.ts";
import type { TrainerOptions } from "./TrainerState.ts";

export interface LearnerThreadOptions {
  /** The run's starting weights (also the reference policy of a KL loss), with the files of its folder. */
  readonly checkpoint: Checkpoint;
  readonly trainer: TrainerOptions;
  /** Folder written by `save` to go on from. */
  readonly restore?: string;
  /** The starting numbers are moved into the thread, and gone here, instead of copied. */
  readonly moved?: boolean;
  /** One port per generator thread; they are transferred. */
  readonly ports?: readonly MessagePort[];
}

export interface LearnerThread extends Context.Service.Shape<typeof Learner> {
  /** One step of behaviour cloning at rate `lr`; the batch's mask marks the targets. */
  readonly clone: (batch: TokenBatch, lr: number) => Effect.Effect<CloningReport, LearnerError>;
  /** Nats per target token of a batch under the current weights; null where it has no target. */
  readonly cloningLoss: (batch: TokenBatch) => Effect.Effect<number | null, LearnerError>;
  /** Suspends until the thread is gone and then fails. */
  readonly died: Effect.Effect<never, LearnerError>;
}

const reasonOf = (failure: ThreadFailure): LearnerError["reason"] => {
  if (failure.reason === "thread_died") return "thread_died";
  const { code } = failure;
  return code === "bad_checkpoint" || code === "not_finite" || code === "refused" ? code : "session_failed";
};

export const learnerError = (failure: ThreadFailure): LearnerError =>
  new LearnerError({ reason: reasonOf(failure), message: failure.message, cause: failure.cause });

/** The calls of a learner's thread that has started, whose networks compute on `lanes` lanes. */
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

/** Fails with LearnerError when the thread dies, a session refuses, or `restore` cannot be read. */
export const make = (options: LearnerThreadOptions): Effect.Effect<LearnerThread, LearnerError, Scope.Scope> =>
  Effect.gen(function* () {
    const thread = yield* makeThread<LearnerProtocol, LearnerError>({
      url: new URL("./worker.ts", import.meta.url),
      name: "learner",
      fail: learnerError,
    });
    const ports = options.ports ?? [];
    const { checkpoint, trainer, restore = null } = options;
    const { buffer } = (checkpoint.adapter?.parameters ?? checkpoint.parameters).flat;
    const moved = options.moved === true && buffer instanceof ArrayBuffer ? [buffer] : [];
    yield* thread.call("start", { checkpoint, options: trainer, restore, ports }, [...ports, ...moved]);
    return learnerOver(thread, trainer.lanes);
  });
