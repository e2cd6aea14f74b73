/** What a trainer is given, and what decides its next update. */
import type { RunConfig } from "../config/RunConfig.ts";
import type { Device } from "../domain/Device.ts";
import type { Parameters } from "../model/graphs/Parameters.ts";
import type { Runtime } from "../model/runtime/Session.ts";
import type { AnalysisOptions } from "./analysis/GradientAnalysis.ts";
import type { Moments } from "./optimiser/AdamW.ts";

export interface TrainerOptions {
  readonly seed: number;
  /** Threads that share the passes over a mini-batch, the learner's own among them; `Lanes.setUsed` leaves some idle. */
  readonly lanes: number;
  /** Intra-op threads of every session. */
  readonly threads: number;
  /** What the learner's thread sets for its sessions and its lanes' (`useRuntime`), default onnxruntime; a trainer elsewhere has its thread's. */
  readonly runtime?: Runtime;
  /** Where the sessions compute. Default CPU. */
  readonly device?: Device;
  /** Updates over which a learning rate decays. */
  readonly totalUpdates: number;
  readonly algorithm: RunConfig["algorithm"];
  /** `filter.loss_scaling`: how the kept share of a window scales its advantages. */
  readonly lossScaling: RunConfig["filter"]["loss_scaling"];
  readonly actor: RunConfig["actor"];
  readonly critic: RunConfig["critic"];
  /** The decomposition of the gradient; none without. */
  readonly analysis?: AnalysisOptions;
}

/** Everything that decides the next update, beside the options. */
export interface TrainerState {
  readonly version: number;
  /** Windows given to `update`. */
  readonly windows: number;
  /** Windows that trained the actor, and the critic, skipped ones not: positions of their learning-rate schedules. */
  readonly actorUpdates: number;
  readonly criticUpdates: number;
  /** Coefficient of the divergence in the next window's reward; absent while it is that of the run file. */
  readonly klCoefficient?: number;
}

export const initialState: TrainerState = { version: 0, windows: 0, actorUpdates: 0, criticUpdates: 0 };

export interface TrainedNetwork {
  readonly parameters: Parameters;
  readonly moments: Moments;
}

/** What a trainer goes on from. */
export interface RestoredTrainer {
  readonly state: TrainerState;
  readonly actor: TrainedNetwork;
  readonly critic: TrainedNetwork | undefined;
  /** The reference policy, where it may have been renewed; else it is the starting weights. */
  readonly reference?: Parameters;
}
