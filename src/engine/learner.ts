/** The learner that a run file asks for: a thread of this process, or one that trains on a server. */
import type { MessagePort } from "node:worker_threads";
import { Effect, type Scope } from "effect";
import { learnerDevice } from "../config/devices.ts";
import { isFixedLag } from "../config/fixedLag.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import type { Version } from "../domain/Episode.ts";
import { BadInput, type LearnerError } from "../domain/Errors.ts";
import * as CustomLearner from "../learner/CustomLearner.ts";
import * as LearnerThread from "../learner/LearnerThread.ts";
import { trainerOptions } from "../learner/TrainerOptions.ts";
import type { Model } from "../model/Model.ts";
import type { CustomModels } from "./CustomModels.ts";

export interface LearnerOptions {
  readonly config: RunConfig;
  /** The run's starting weights; a KL loss is taken against them. */
  readonly start: Model;
  /** The weights that the learner begins with, and their version. */
  readonly current: Model;
  readonly version: Version;
  /** A policy and a learner of the user's own. */
  readonly custom: CustomModels;
  /** Folder of the checkpoint to go on from; null for a new run. */
  readonly restore: string | null;
  /** Ports that receive new versions; they are transferred to the learner's thread. */
  readonly ports: readonly MessagePort[];
}

/** True where a learner starts whatever the run file says. Only then may a run begin before its learner, which it needs at the first update. */
const cannotBeRefused = ({ actor, algorithm, model }: RunConfig): boolean =>
  actor.custom_loss === null &&
  algorithm.custom_estimator === null &&
  model.runtime === "onnx" &&
  learnerDevice(model).kind === "cpu";

/** Fails as `bad_checkpoint` where `restore` cannot be read; what a server will not do is bad input. */
export const learner = ({
  config,
  current,
  custom,
  ports,
  restore,
  start,
  version,
}: LearnerOptions): Effect.Effect<LearnerThread.LearnerThread, BadInput | LearnerError, Scope.Scope> => {
  if (custom.learner !== undefined) {
    const givesWeights = custom.policy === undefined;
    return CustomLearner.make(custom.learner, { config, model: current, restore, version, ports, givesWeights });
  }
  const started =
    config.model.learner.engine === "tinker"
      ? Effect.flatMap(
          Effect.promise(() => import("../remote/tinker/TinkerLearner.ts")),
          ({ make }) => make({ config, model: start, restore, ports }),
        )
      : LearnerThread.make({
          checkpoint: start.checkpoint,
          trainer: trainerOptions(config),
          ports,
          sendsEach: custom.recorded !== undefined,
          lag: isFixedLag(config) ? config.pipeline.max_staleness : null,
          inBackground: restore === null && cannotBeRefused(config),
          // The generators have theirs. A checkpoint may turn out to be damaged: the one before it begins with the same numbers.
          ...(restore === null ? { moved: true } : { restore }),
        });
  return Effect.catchIf(
    started,
    (error): error is LearnerError => error._tag === "LearnerError" && error.reason === "refused",
    ({ message }) => new BadInput({ message }),
  );
};
