/** A trainer's state, which decides its next update beside its options, and a trainer as it is saved. */
import type { Parameters } from "../model/graphs/Parameters.ts";
import type { EarlierVersion } from "../model/weights/Weights.ts";
import type { Moments } from "./optimiser/AdamW.ts";

/** Everything that decides the next update, beside the options. */
export interface TrainerState {
  readonly version: number;
  /** Windows given to `update`. */
  readonly windows: number;
  /** Windows that trained the actor, and the critic, without skipped ones. The learning-rate schedules count these. */
  readonly actorUpdates: number;
  readonly criticUpdates: number;
  /** Coefficient of the KL divergence in the next window's reward; absent while it is the run file's. */
  readonly klCoefficient?: number;
}

export const initialState: TrainerState = { version: 0, windows: 0, actorUpdates: 0, criticUpdates: 0 };

export interface TrainedNetwork {
  readonly parameters: Parameters;
  readonly moments: Moments;
}

/** A saved trainer, from which training resumes. */
export interface RestoredTrainer {
  readonly state: TrainerState;
  readonly actor: TrainedNetwork;
  readonly critic: TrainedNetwork | undefined;
  /** The reference policy, if it is renewed; otherwise it is the starting weights. */
  readonly reference?: Parameters;
  /** Versions before the newest one, ascending; empty without a fixed lag. */
  readonly earlier: readonly EarlierVersion[];
}
