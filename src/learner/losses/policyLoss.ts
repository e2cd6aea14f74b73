/**
 * The policy's loss as a tensor graph over target tokens: a scalar and its parts, from log-probabilities and what the batch holds of each
 * token. A token's weight in the loss is an input (`tokenWeights`), so that every aggregation is one weighted sum. Invariant: a token of
 * weight 0 contributes to no value or gradient.
 */
import { abs, add, clip, exp, less, maximum, minimum, mul, neg, square, sub, where } from "../../tensor/Elementwise.ts";
import type { Tensor } from "../../tensor/Graph.ts";
import { reduceSum } from "../../tensor/Layout.ts";
import { type LogLinear, logLinear } from "./logLinear.ts";
import { LOG_RATIO_BOUND } from "./logRatio.ts";

/** Bound of the k3 estimate per token. */
const K3_BOUND = 10;

export type KlType = "k1" | "abs" | "k2" | "k3";

export interface ClipOptions {
  readonly low: number;
  readonly high: number;
  /** Dual clip (Ye et al. 2020): bound on the loss of a token with a negative advantage, in units of it; 0 off. */
  readonly dual: number;
}

/** Over target tokens, all of one shape. */
export interface ClippedInputs {
  readonly logp: Tensor;
  /** Log-probability the ratio is taken against. */
  readonly old: Tensor;
  readonly advantages: Tensor;
}

export const weightedSum = (values: Tensor, weights: Tensor): Tensor => reduceSum(mul(values, weights));

/**
 * Clipped surrogate (Schulman et al. 2017, clip-higher of Yu et al. 2025) of each token:
 * max(-A r, -A clip(r, 1 - low, 1 + high)) with r = exp(clamp(logp - old, ±20)), bounded by -A dual where A < 0.
 */
export const clippedSurrogate = (
  { logp, old, advantages }: ClippedInputs,
  { low, high, dual }: ClipOptions,
): Tensor => {
  const ratio = exp(clip(sub(logp, old), -LOG_RATIO_BOUND, LOG_RATIO_BOUND));
  const against = neg(advantages);
  const clipped = maximum(mul(against, ratio), mul(against, clip(ratio, 1 - low, 1 + high)));
  if (dual === 0) return clipped;
  return where(less(advantages, 0), minimum(mul(against, dual), clipped), clipped);
};

/** Estimate of KL(policy || reference) from each sampled token (Schulman 2020). */
export const klEstimate = (logp: Tensor, reference: Tensor, type: KlType): Tensor => {
  const difference = sub(logp, reference);
  switch (type) {
    case "k1":
      return difference;
    case "abs":
      return abs(difference);
    case "k2":
      return mul(square(difference), 0.5);
    case "k3": {
      const inverse = clip(neg(difference), -LOG_RATIO_BOUND, LOG_RATIO_BOUND);
      return clip(sub(sub(exp(inverse), inverse), 1), -K3_BOUND, K3_BOUND);
    }
  }
};

export interface PolicyLossOptions {
  readonly clip: ClipOptions;
  readonly entropyCoefficient: number;
  readonly kl: { readonly coefficient: number; readonly type: KlType } | undefined;
  /** With the log-linear proximal policy: `old` is mu, and the inputs have `places`. */
  readonly logLinear?: LogLinear | undefined;
}

export interface PolicyLossInputs extends ClippedInputs {
  readonly entropy: Tensor;
  readonly weights: Tensor;
  /** Off-policy correction of each token, a constant of the loss; 1 without one. */
  readonly importance: Tensor;
  /** Log-probability under the reference policy; needed with `kl`. */
  readonly reference: Tensor | undefined;
  /** Of each token, the place of pi_prox between mu and the policy; needed with `logLinear`. */
  readonly places?: Tensor | undefined;
}

export interface PolicyLoss {
  /** surrogate - entropyCoefficient entropy + klCoefficient kl; all scalars. */
  readonly total: Tensor;
  readonly surrogate: Tensor;
  readonly entropy: Tensor;
  readonly kl: Tensor | undefined;
}

/** The inputs with the ratio against pi_prox, where that is interpolated. */
const corrected = (inputs: PolicyLossInputs, options: PolicyLossOptions): PolicyLossInputs => {
  const { logp, old, places } = inputs;
  if (options.logLinear === undefined || places === undefined) return inputs;
  return { ...inputs, ...logLinear({ logp, mu: old, places }, options.logLinear) };
};

export const policyLoss = (given: PolicyLossInputs, options: PolicyLossOptions): PolicyLoss => {
  const inputs = corrected(given, options);
  const { weights } = inputs;
  const surrogate = weightedSum(mul(clippedSurrogate(inputs, options.clip), inputs.importance), weights);
  const entropy = weightedSum(inputs.entropy, weights);
  const regularised =
    options.entropyCoefficient === 0 ? surrogate : sub(surrogate, mul(entropy, options.entropyCoefficient));
  if (options.kl === undefined || inputs.reference === undefined)
    return { total: regularised, surrogate, entropy, kl: undefined };
  const kl = weightedSum(klEstimate(inputs.logp, inputs.reference, options.kl.type), weights);
  return { total: add(regularised, mul(kl, options.kl.coefficient)), surrogate, entropy, kl };
};

/** Behaviour cloning: the weighted negative log-likelihood of the targets. */
export const cloningLoss = (logp: Tensor, weights: Tensor): Tensor => neg(weightedSum(logp, weights));
