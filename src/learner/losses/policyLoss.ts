/**
 * The policy's losses by name, each a small tensor graph over target tokens. It is part of the local learner's graph (models.ts) and a
 * model by itself (lossModel.ts). A token's weight is an input (`tokenWeights`), so every aggregation is a weighted sum. Invariants: a
 * token of weight 0 contributes nothing; a loss is a sum over sequences, so micro-batches add up to their mini-batch.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import {
  add,
  cast,
  clip,
  div,
  equals,
  greater,
  less,
  maximum,
  minimum,
  mul,
  neg,
  not,
  stopGradient,
  straightThrough,
  sub,
  where,
} from "../../model/tensor/Elementwise.ts";
import { gradients, type Seed } from "../../model/tensor/Gradients.ts";
import type { Graph, Tensor } from "../../model/tensor/Graph.ts";
import { elementsAt, segmentSum } from "../../model/tensor/Indexing.ts";
import { reduceSum } from "../../model/tensor/Layout.ts";
import { sizeOf } from "../../model/tensor/Shape.ts";
import { type KlType, klEstimate } from "./klEstimate.ts";
import { type LogLinear, logLinear } from "./logLinear.ts";
import { clampedRatio } from "./logRatio.ts";

/** The losses of this package; `custom` is a module of the user's. */
export type PolicyLossName = Exclude<RunConfig["actor"]["policy_loss"], "custom">;

/** The run file's clipping: the ratio stays within 1 - `low` and 1 + `high`. */
export interface ClipOptions {
  readonly low: number;
  readonly high: number;
  /** Dual clip (Ye et al. 2020): bound on the loss of a token with negative advantage, in units of the advantage; 0 is off. */
  readonly dual: number;
}

/** Inputs of a loss from the batch, all [targets]. */
export interface TargetInputs {
  /** Log-probability that the ratio is taken against. */
  readonly old: Tensor;
  readonly advantages: Tensor;
  /** Weight of each token in the loss; the engine multiplies by it. */
  readonly weights: Tensor;
  /** Importance weight of each token, a constant of the loss; 1 without a correction. */
  readonly importance: Tensor;
  /** Log-probability under the reference policy; needed with `kl`. */
  readonly reference: Tensor | undefined;
  /** Index of each target's sequence, int64, below the number of targets; needed by losses with a ratio per sequence. */
  readonly sequences: Tensor | undefined;
  /** Position of pi_prox between mu, which is `old`, and the policy; needed with `logLinear`. */
  readonly places?: Tensor | undefined;
}

/** Inputs of a policy loss, one element for each trained token of a micro-batch, [targets]. */
export interface PolicyLossInputs extends TargetInputs {
  /** Log-probability of each target under the policy. */
  readonly logp: Tensor;
  /** Entropy of the distribution that each target is drawn from. */
  readonly entropy: Tensor;
}

export interface PolicyLossOptions {
  readonly loss: PolicyLossName | LossDefinition;
  readonly clip: ClipOptions;
  readonly entropyCoefficient: number;
  readonly kl: { readonly coefficient: number; readonly type: KlType } | undefined;
  /** Present for the log-linear proximal policy. */
  readonly logLinear?: LogLinear | undefined;
}

/** Builds the loss of each target before importance and weight, [targets], as a graph. Its gradient is derived from the graph. */
export type Surrogate = (inputs: PolicyLossInputs, clip: ClipOptions) => Tensor;

export const weightedSum = (values: Tensor, weights: Tensor): Tensor => reduceSum(mul(values, weights));

const logRatio = ({ logp, old }: PolicyLossInputs): Tensor => sub(logp, old);

/** max(-A r, -A clip(r, 1 - low, 1 + high)) */
const clippedSurrogate = (ratio: Tensor, advantages: Tensor, { low, high }: ClipOptions): Tensor => {
  const against = neg(advantages);
  return maximum(mul(against, ratio), mul(against, clip(ratio, 1 - low, 1 + high)));
};

/**
 * Returns, for each target, the mean of `values` over its sequence's targets of nonzero weight. Throws a RangeError in a loss that does not
 * say `bySequence`.
 */
export const sequenceMeans = (values: Tensor, { sequences, weights }: PolicyLossInputs): Tensor => {
  if (sequences === undefined)
    throw new RangeError("a loss with a ratio per sequence needs the sequence of each target");
  const size = sizeOf(values.shape, 0);
  const counted = cast(not(equals(weights, 0)), "float32");
  const sums = segmentSum(mul(values, counted), sequences, size);
  const counts = segmentSum(counted, sequences, size);
  return elementsAt(div(sums, maximum(counts, 1)), sequences);
};

/**
 * PPO's clipped surrogate (Schulman et al. 2017, clip-higher of Yu et al. 2025).
 *
 * With r = exp(clamp(logp - old, ±20)) it is max(-A r, -A clip(r, 1 - low, 1 + high)), bounded by -A dual if A < 0.
 */
const ppo: Surrogate = (inputs, options) => {
  const { advantages } = inputs;
  const surrogate = clippedSurrogate(clampedRatio(logRatio(inputs)), advantages, options);
  if (options.dual === 0) return surrogate;
  return where(less(advantages, 0), minimum(mul(neg(advantages), options.dual), surrogate), surrogate);
};

/**
 * GSPO (Zheng et al. 2025): the clipped surrogate with one ratio per sequence y, s = exp(mean over y of (logp - old)), without a dual clip.
 * This is its token form (section 4.3): a token's gradient is that of its own ratio scaled to s, so advantages may differ within a
 * sequence. With equal advantages and weights it is the gradient of s itself.
 */
const gspo: Surrogate = (inputs, options) => {
  const tokens = logRatio(inputs);
  const ratio = clampedRatio(straightThrough(sequenceMeans(tokens, inputs), tokens));
  return clippedSurrogate(ratio, inputs.advantages, options);
};

/**
 * GMPO (Zhao et al. 2025, "Geometric-mean policy optimization"): -A exp(mean of the clipped log ratios) per sequence, with its mean
 * advantage A. Each token's log ratio is clipped to [-low, high] on the side that its own advantage pushes it to.
 */
const geometricMean: Surrogate = (inputs, { low, high }) => {
  const { advantages } = inputs;
  const tokens = logRatio(inputs);
  const within = clip(tokens, -low, high);
  const raised = where(greater(advantages, 0), minimum(tokens, within), 0);
  const clampedLogRatio = where(less(advantages, 0), maximum(tokens, within), raised);
  return mul(neg(sequenceMeans(advantages, inputs)), clampedRatio(sequenceMeans(clampedLogRatio, inputs)));
};

/**
 * CISPO (MiniMax-M1, 2025): -clip(r, 1 - low, 1 + high) A logp, the clipped ratio a constant, so that no token's gradient vanishes. With
 * low = 1 it is the clamped REINFORCE of PipelineRL (Piché et al. 2025).
 */
const cispo: Surrogate = (inputs, { low, high }) => {
  const weight = stopGradient(clip(clampedRatio(logRatio(inputs)), 1 - low, 1 + high));
  return mul(mul(neg(inputs.advantages), weight), inputs.logp);
};

/** GPG (Chu et al. 2025), the plain policy gradient: -A logp, no ratio. */
const gpg: Surrogate = ({ advantages, logp }) => mul(neg(advantages), logp);

/** The ratio that a loss clips, and the bounds within which it always has a gradient. */
export interface ClipRule {
  readonly ratio: "token" | "sequence";
  readonly bounds: ClipOptions;
}

/** A policy loss: the surrogate that is minimised, and what the engine has to know of it. */
export interface LossDefinition {
  readonly surrogate: Surrogate;
  /** True for a loss that takes means over sequences. Its inputs then name each target's sequence. Default false. */
  readonly bySequence?: boolean;
  /** Returns the ratio that the loss clips and its bounds, for the metrics of clipping. Default null: every token keeps its gradient. */
  readonly clipRule?: (clip: ClipOptions) => ClipRule | null;
}

export const policyLosses: Readonly<Record<PolicyLossName, LossDefinition>> = {
  ppo: { surrogate: ppo, clipRule: (bounds) => ({ ratio: "token", bounds }) },
  gspo: {
    surrogate: gspo,
    bySequence: true,
    clipRule: (clip) => ({ ratio: "sequence", bounds: { ...clip, dual: 0 } }),
  },
  geo_mean: {
    surrogate: geometricMean,
    bySequence: true,
    clipRule: ({ low, high }) => ({
      ratio: "token",
      bounds: { low: 1 - Math.exp(-low), high: Math.exp(high) - 1, dual: 0 },
    }),
  },
  cispo: { surrogate: cispo },
  gpg: { surrogate: gpg },
};

export const lossDefinition = (loss: PolicyLossName | LossDefinition): LossDefinition =>
  typeof loss === "string" ? policyLosses[loss] : loss;

/** Adds the loss's inputs from the batch to a graph, under the names that every loss model uses. */
export const targetLossInputs = (graph: Graph, { kl, logLinear, loss }: PolicyLossOptions): TargetInputs => {
  const input = (name: string): Tensor => graph.input(name, "float32", ["targets"]);
  return {
    old: input("old"),
    advantages: input("advantages"),
    weights: input("weights"),
    importance: input("importance"),
    reference: kl === undefined ? undefined : input("reference"),
    sequences: lossDefinition(loss).bySequence === true ? graph.input("sequences", "int64", ["targets"]) : undefined,
    places: logLinear === undefined ? undefined : input("places"),
  };
};

export interface PolicyLoss {
  /** surrogate - entropyCoefficient entropy + klCoefficient kl; all scalars. */
  readonly total: Tensor;
  readonly surrogate: Tensor;
  readonly entropy: Tensor;
  readonly kl: Tensor | undefined;
}

/** Replaces the ratio and weights by those of pi_prox if it is interpolated. */
const withLogLinear = (inputs: PolicyLossInputs, options: PolicyLossOptions): PolicyLossInputs => {
  const { importance, logp, old, places } = inputs;
  if (options.logLinear === undefined || places === undefined) return inputs;
  const proximal = logLinear({ logp, mu: old, places }, options.logLinear);
  return { ...inputs, old: proximal.old, importance: mul(importance, proximal.importance) };
};

export const policyLoss = (uncorrected: PolicyLossInputs, options: PolicyLossOptions): PolicyLoss => {
  const inputs = withLogLinear(uncorrected, options);
  const { weights } = inputs;
  const perToken = lossDefinition(options.loss).surrogate(inputs, options.clip);
  const surrogate = weightedSum(mul(perToken, inputs.importance), weights);
  const entropy = weightedSum(inputs.entropy, weights);
  const regularised =
    options.entropyCoefficient === 0 ? surrogate : sub(surrogate, mul(entropy, options.entropyCoefficient));
  if (options.kl === undefined || inputs.reference === undefined)
    return { total: regularised, surrogate, entropy, kl: undefined };
  const kl = weightedSum(klEstimate(inputs.logp, inputs.reference, options.kl.type), weights);
  return { total: add(regularised, mul(kl, options.kl.coefficient)), surrogate, entropy, kl };
};

/**
 * Returns the loss's gradients by `logp` and, with an entropy bonus, by `entropy`, [targets]. The network's backward pass starts from them.
 */
export const policySeeds = (
  { total }: PolicyLoss,
  { entropy, logp }: Pick<PolicyLossInputs, "entropy" | "logp">,
  { entropyCoefficient }: Pick<PolicyLossOptions, "entropyCoefficient">,
): readonly Seed[] => {
  const by = entropyCoefficient === 0 ? [logp] : [logp, entropy];
  return gradients(total, by).map((gradient, i) => ({ tensor: by[i]!, gradient }));
};

/** Behaviour cloning: the weighted negative log-likelihood of the targets. */
export const cloningLoss = (logp: Tensor, weights: Tensor): Tensor => neg(weightedSum(logp, weights));
