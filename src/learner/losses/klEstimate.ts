/**
 * Estimates of KL(policy || reference) from sampled tokens (Schulman 2020, "Approximating KL divergence"), as a tensor graph for the loss
 * and as numbers for the reward.
 *
 * With d = log policy - log reference: k1 = d, abs = |d|, k2 = d^2 / 2, k3 = exp(-d) + d - 1.
 * The mean of k1 and of k3 is the divergence, but the mean of their gradients is not its gradient; that of k2 is.
 * The forms with "+" are straight-through: they have their own value and the gradient of k2.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import { abs, clip, exp, mul, neg, square, straightThrough, sub } from "../../model/tensor/Elementwise.ts";
import type { Tensor } from "../../model/tensor/Graph.ts";
import { clampLogRatio, LOG_RATIO_BOUND } from "./logRatio.ts";

/** An estimator by its value, for the reward, which needs no gradient. */
export type KlValue = RunConfig["algorithm"]["kl_penalty"];
export type KlType = RunConfig["actor"]["kl_loss_type"];

/** Bound of the k3 estimate per token, as in verl. */
const K3_BOUND = 10;

const valueTypes = {
  k1: "k1",
  abs: "abs",
  k2: "k2",
  k3: "k3",
  "k1+": "k1",
  "abs+": "abs",
  "k3+": "k3",
} as const satisfies Record<KlType, KlValue>;

const k2 = (difference: Tensor): Tensor => mul(square(difference), 0.5);

const estimateOf = (difference: Tensor, type: KlValue): Tensor => {
  switch (type) {
    case "k1":
      return difference;
    case "abs":
      return abs(difference);
    case "k2":
      return k2(difference);
    case "k3": {
      const inverse = clip(neg(difference), -LOG_RATIO_BOUND, LOG_RATIO_BOUND);
      return clip(sub(sub(exp(inverse), inverse), 1), -K3_BOUND, K3_BOUND);
    }
  }
};

/** Returns the estimate of each token, in the shape of `logp`, nats. */
export const klEstimate = (logp: Tensor, reference: Tensor, type: KlType): Tensor => {
  const difference = sub(logp, reference);
  const value = estimateOf(difference, valueTypes[type]);
  return type.endsWith("+") ? straightThrough(value, k2(difference)) : value;
};

/** Returns the estimate of one token, nats. */
export const klOf = (logp: number, reference: number, type: KlValue): number => {
  const difference = logp - reference;
  switch (type) {
    case "k1":
      return difference;
    case "abs":
      return Math.abs(difference);
    case "k2":
      return 0.5 * difference ** 2;
    case "k3": {
      const inverse = clampLogRatio(-difference);
      return Math.max(-K3_BOUND, Math.min(K3_BOUND, Math.exp(inverse) - inverse - 1));
    }
  }
};
