/** The learner that a run file asks for: a thread of this process, or one that trains on a server. */
import type { MessagePort } from "node:worker_threads";
import { Effect, type Scope } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { BadInput, type LearnerError } from "../domain/Errors.ts";
import * as LearnerThread from "../learner/LearnerThread.ts";
import { trainerOptions } from "../learner/TrainerOptions.ts";
import type { Model } from "../model/Model.ts";
import * as TinkerLearner from "../remote/tinker/TinkerLearner.ts";

export interface LearnerOptions {
  readonly config: RunConfig;
  /** The run's starting weights; a KL loss is taken against them. */
  readonly start: Model;
  /** Folder of the checkpoint to go on from; null for a new run. */
  readonly restore: string | null;
  /** Ports that receive new versions; they are transferred to the learner's thread. */
  readonly ports: readonly MessagePort[];
}

/** Fails as `bad_checkpoint` where `restore` cannot be read; what a server will not do is bad input. */
export const learner = ({
  config,
  ports,
  restore,
  start,
}: LearnerOptions): Effect.Effect<LearnerThread.LearnerThread, BadInput | LearnerError, Scope.Scope> => {
  const started =
    config.model.learner.engine === "tinker"
      ? TinkerLearner.make({ config, model: start, restore, ports })
      : LearnerThread.make({
          checkpoint: start.checkpoint,
          trainer: trainerOptions(config),
          ports,
          // The generators have theirs. A checkpoint may turn out to be damaged: the one before it begins with the same numbers.
          ...(restore === null ? { moved: true } : { restore }),
        });
  return Effect.catchIf(
    started,
    (error): error is LearnerError => error._tag === "LearnerError" && error.reason === "refused",
    ({ message }) => new BadInput({ message }),
  );
};
