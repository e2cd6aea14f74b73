/** What a trainer is told of a run file. Pure. */
import { learnerDevice } from "../config/devices.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { analysisOptions } from "./analysis/GradientAnalysis.ts";
import type { TrainerOptions } from "./TrainerState.ts";

/** The trainer's options out of a run's file. */
export const trainerOptions = (config: RunConfig): TrainerOptions => ({
  seed: config.run.seed,
  // A device runs one pass at a time.
  lanes: learnerDevice(config.model).kind === "cpu" ? config.model.learner_lanes : 1,
  threads: config.model.learner_intra_op,
  runtime: config.model.runtime,
  device: learnerDevice(config.model),
  totalUpdates: config.trainer.total_training_steps,
  algorithm: config.algorithm,
  lossScaling: config.filter.loss_scaling,
  actor: config.actor,
  critic: config.critic,
  analysis: analysisOptions(config),
});
