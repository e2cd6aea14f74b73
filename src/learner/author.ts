/**
 * The module `millrace/learner`, for authors of advantage estimators and policy losses. A loss is a graph of tensors over the targets of a
 * micro-batch; the engine derives its gradient.
 */
import type { AdvantageEstimator } from "./advantages/AdvantageEstimator.ts";
import type { LossDefinition } from "./losses/policyLoss.ts";

export {
  abs,
  add,
  clip,
  div,
  exp,
  greater,
  less,
  log,
  maximum,
  minimum,
  mul,
  neg,
  sigmoid,
  sqrt,
  square,
  stopGradient,
  sub,
  tanh,
  where,
} from "../model/tensor/Elementwise.ts";
export type { Tensor } from "../model/tensor/Graph.ts";
export type {
  AdvantageEstimator,
  EpisodeAdvantage,
  EstimatorEpisode,
  EstimatorTurn,
  TurnAdvantage,
} from "./advantages/AdvantageEstimator.ts";
export { clampedRatio } from "./losses/logRatio.ts";
export {
  type ClipOptions,
  type ClipRule,
  type LossDefinition,
  type PolicyLossInputs,
  sequenceMeans,
} from "./losses/policyLoss.ts";

/** Gives an estimator its type, for `export default`. */
export const defineEstimator = (estimator: AdvantageEstimator): AdvantageEstimator => estimator;

/** Gives a policy loss its type, for `export default`. */
export const defineLoss = (loss: LossDefinition): LossDefinition => loss;
