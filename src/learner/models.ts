/**
 * The learner's ONNX models: forward and backward pass of actor, critic and behaviour cloning. Inputs are weights and a padded micro-batch;
 * outputs are gradients (`gradientName`), scalars and per-token values. Invariant: the gradients of a mini-batch's micro-batches add up to
 * its gradient.
 */

import type { RunConfig } from "../config/RunConfig.ts";
import type { DecoderConfig, ParameterSpec } from "../model/graphs/Architecture.ts";
import type { Recompute } from "../model/graphs/Decoder.ts";
import { criticInputs, policyInputs } from "../model/graphs/Lora.ts";
import { type PassOptions, policyForward, targetInputs, valueForward } from "../model/graphs/Score.ts";
import { trainedCriticParameters, trainedParameters } from "../model/graphs/TrainedParameters.ts";
import { backward, gradients } from "../model/tensor/Gradients.ts";
import { Graph, type Tensor } from "../model/tensor/Graph.ts";
import type { OnnxModel } from "../model/tensor/Onnx.ts";
import { outputGradients } from "./gradients.ts";
import {
  cloningLoss,
  type LossDefinition,
  type PolicyLossOptions,
  policyLoss,
  policySeeds,
  targetLossInputs,
} from "./losses/policyLoss.ts";
import { valueLoss } from "./losses/valueLoss.ts";

/** Adds an input with one number per target. */
export const targetInput = (graph: Graph, name: string): Tensor => graph.input(name, "float32", ["targets"]);

const recomputedBy = ({
  gradient_checkpointing: mode,
}: Pick<RunConfig["actor"], "gradient_checkpointing">): Recompute =>
  mode === "attention" ? "attention" : mode ? "layers" : "nothing";

/** Returns how passes are built, from the run file's keys. */
export const passOptions = (
  actor: Pick<RunConfig["actor"], "gradient_checkpointing" | "micro_batch_tokens" | "use_prefix_grouper">,
): PassOptions => ({
  targets: actor.micro_batch_tokens,
  recompute: recomputedBy(actor),
  shared: actor.use_prefix_grouper,
});

const required = (custom: LossDefinition | undefined): LossDefinition => {
  if (custom === undefined) throw new TypeError("actor.policy_loss is custom, and its module has not been loaded");
  return custom;
};

/** The algorithm's keys that a policy loss reads. */
export type LossAlgorithm = Pick<RunConfig["algorithm"], "correction" | "correction_cap">;

/** `custom` is the loss of a run file with `actor.policy_loss: custom`; throws a TypeError if such a run file comes without one. */
export const policyLossOptions = (
  actor: RunConfig["actor"],
  algorithm: LossAlgorithm,
  custom?: LossDefinition,
): PolicyLossOptions => ({
  loss: actor.policy_loss === "custom" ? required(custom) : actor.policy_loss,
  clip: { low: actor.clip_ratio_low, high: actor.clip_ratio_high, dual: actor.clip_ratio_c },
  entropyCoefficient: actor.entropy_coeff,
  kl: actor.use_kl_loss ? { coefficient: actor.kl_loss_coef, type: actor.kl_loss_type } : undefined,
  logLinear: algorithm.correction === "loglinear" ? { cap: algorithm.correction_cap } : undefined,
});

/**
 * Builds the network with its loss in one graph; the backward pass starts from the loss's gradients. Inputs: weights, targets
 * (`targetInputs`), temperature [], then per target those of `targetLossInputs`. Outputs: gradients, logp [targets], and the scalars
 * surrogate, entropy, kl.
 */
export const actorModel = (
  config: DecoderConfig,
  options: PolicyLossOptions,
  trained: readonly ParameterSpec[] = trainedParameters(config),
  pass?: PassOptions,
): OnnxModel => {
  const graph = new Graph("actor");
  const weights = policyInputs(graph, config);
  const temperature = graph.input("temperature", "float32", []);
  const { logp, entropy } = policyForward(config, weights, targetInputs(graph, pass), temperature, pass);
  const loss = policyLoss({ logp, entropy, ...targetLossInputs(graph, options) }, options);
  const seeds = policySeeds(loss, { logp, entropy }, options);
  outputGradients(graph, (ordered) => backward(seeds, ordered), weights, trained);
  graph.output("logp", logp);
  graph.output("surrogate", loss.surrogate);
  graph.output("entropy", loss.entropy);
  if (loss.kl !== undefined) graph.output("kl", loss.kl);
  return graph.toModel();
};

/** Inputs: weights, targets, then per target: old, returns, weights. Outputs: the gradients, values [targets] and the scalar loss. */
export const criticModel = (
  config: DecoderConfig,
  clipRange: number,
  trained: readonly ParameterSpec[] = trainedCriticParameters(config),
  pass?: PassOptions,
): OnnxModel => {
  const graph = new Graph("critic");
  const weights = criticInputs(graph, config);
  const values = valueForward(config, weights, targetInputs(graph, pass), pass);
  const loss = valueLoss(
    {
      values,
      old: targetInput(graph, "old"),
      returns: targetInput(graph, "returns"),
      weights: targetInput(graph, "weights"),
    },
    clipRange,
  );
  outputGradients(graph, (ordered) => gradients(loss, ordered), weights, trained);
  graph.output("values", values);
  graph.output("loss", loss);
  return graph.toModel();
};

/** Inputs: weights, targets. Output: values [targets] of the text before each target. */
export const valuesModel = (config: DecoderConfig, pass?: PassOptions): OnnxModel => {
  const graph = new Graph("values");
  const weights = criticInputs(graph, config);
  graph.output("values", valueForward(config, weights, targetInputs(graph, pass), pass));
  return graph.toModel();
};

/** Inputs: weights, targets, weights per target. Outputs: the gradients, the scalar loss. */
export const cloningModel = (
  config: DecoderConfig,
  trained: readonly ParameterSpec[] = trainedParameters(config),
  pass?: PassOptions,
): OnnxModel => {
  const graph = new Graph("cloning");
  const weights = policyInputs(graph, config);
  const { logp } = policyForward(config, weights, targetInputs(graph, pass), graph.constant(1), pass);
  const loss = cloningLoss(logp, targetInput(graph, "weights"));
  outputGradients(graph, (ordered) => gradients(loss, ordered), weights, trained);
  graph.output("loss", loss);
  return graph.toModel();
};
