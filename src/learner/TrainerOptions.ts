/** A trainer's options, and how they follow from a run file. */
import { learnerDevice } from "../config/devices.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import type { Device } from "../domain/Device.ts";
import type { Runtime } from "../model/runtime/Session.ts";
import { type AnalysisOptions, analysisOptions } from "./analysis/GradientAnalysis.ts";
import type { CustomParts } from "./CustomParts.ts";

export interface TrainerOptions {
  readonly seed: number;
  /** Threads that share the passes over a mini-batch, the learner's own among them. `Lanes.setUsed` leaves some idle. */
  readonly lanes: number;
  /** Intra-op threads of every session. */
  readonly threads: number;
  /** Runtime of the learner's sessions and its lanes' (`useRuntime`), default onnxruntime. A trainer elsewhere has its thread's. */
  readonly runtime?: Runtime;
  /** Device of the sessions. Default CPU. */
  readonly device?: Device;
  /** Updates over which a learning rate decays. */
  readonly totalUpdates: number;
  readonly algorithm: RunConfig["algorithm"];
  /** `filter.loss_scaling`: how the kept share of a window scales its advantages. */
  readonly lossScaling: RunConfig["filter"]["loss_scaling"];
  readonly actor: RunConfig["actor"];
  readonly critic: RunConfig["critic"];
  /** True if updates report a checksum of the parameters. Default false. */
  readonly checksums?: boolean;
  /** The user's own parts, loaded in the learner's thread; absent in options that are sent to it. */
  readonly custom?: CustomParts | undefined;
  /** Options of the gradient analysis; absent for a trainer without one. */
  readonly analysis?: AnalysisOptions;
}

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
  checksums: config.trainer.replay,
});
