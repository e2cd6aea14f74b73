/**
 * The learner's ONNX models: one forward and backward pass of actor, critic and behaviour cloning. Inputs are weights and
 * a padded micro-batch; outputs are the gradient of its share of the loss as one flat vector in parameter order, scalars and per-token
 * values. Invariant: summing the gradients of a mini-batch's micro-batches gives the mini-batch's gradient.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import {
  criticParameters,
  elementCount,
  type ParameterSpec,
  parameters,
  type Qwen2Config,
} from "../policy/model/Architecture.ts";
import { type Weights, weight, weightInputs } from "../policy/model/Qwen2.ts";
import { policyForward, targetInputs, valueForward } from "../policy/model/Score.ts";
import { gradients } from "../tensor/Gradients.ts";
import { Graph, type Tensor } from "../tensor/Graph.ts";
import { concat, reshape } from "../tensor/Layout.ts";
import { cloningLoss, type PolicyLossOptions, policyLoss } from "./losses/policyLoss.ts";
import { valueLoss } from "./losses/valueLoss.ts";

/** An input that says something of every target. */
export const ofTargets = (graph: Graph, name: string): Tensor => graph.input(name, "float32", ["targets"]);

/** The gradient of a loss by all parameters, [parameters], in their order. */
export const flatGradient = (loss: Tensor, weights: Weights, specs: readonly ParameterSpec[]): Tensor => {
  const ordered = specs.map(({ name }) => weight(weights, name));
  const flat = gradients(loss, ordered).map((gradient, i) => reshape(gradient, [elementCount(specs[i]!.shape)]));
  return concat(flat, 0);
};

export const policyLossOptions = (actor: RunConfig["actor"]): PolicyLossOptions => ({
  clip: { low: actor.clip_ratio_low, high: actor.clip_ratio_high, dual: actor.clip_ratio_c },
  entropyCoefficient: actor.entropy_coeff,
  kl: actor.use_kl_loss ? { coefficient: actor.kl_loss_coef, type: actor.kl_loss_type } : undefined,
});

/**
 * Inputs: weights, targets (`targetInputs`), temperature [], then per target: old, advantages, weights, importance and, with a KL loss,
 * reference. Outputs: gradient [parameters], logp [targets], and the scalars surrogate, entropy, kl.
 */
export const actorModel = (config: Qwen2Config, options: PolicyLossOptions): Uint8Array => {
  const graph = new Graph("actor");
  const specs = parameters(config);
  const weights = weightInputs(graph, specs);
  const temperature = graph.input("temperature", "float32", []);
  const { logp, entropy } = policyForward(config, weights, targetInputs(graph), temperature);
  const loss = policyLoss(
    {
      logp,
      entropy,
      old: ofTargets(graph, "old"),
      advantages: ofTargets(graph, "advantages"),
      weights: ofTargets(graph, "weights"),
      importance: ofTargets(graph, "importance"),
      reference: options.kl === undefined ? undefined : ofTargets(graph, "reference"),
    },
    options,
  );
  graph.output("gradient", flatGradient(loss.total, weights, specs));
  graph.output("logp", logp);
  graph.output("surrogate", loss.surrogate);
  graph.output("entropy", loss.entropy);
  if (loss.kl !== undefined) graph.output("kl", loss.kl);
  return graph.toOnnx();
};

/**
 * Inputs: weights, targets, then per target: old, returns, weights. Outputs: gradient [parameters], values [targets] and the scalar loss.
 */
export const criticModel = (config: Qwen2Config, clipRange: number): Uint8Array => {
  const graph = new Graph("critic");
  const specs = criticParameters(config);
  const weights = weightInputs(graph, specs);
  const values = valueForward(config, weights, targetInputs(graph));
  const loss = valueLoss(
    {
      values,
      old: ofTargets(graph, "old"),
      returns: ofTargets(graph, "returns"),
      weights: ofTargets(graph, "weights"),
    },
    clipRange,
  );
  graph.output("gradient", flatGradient(loss, weights, specs));
  graph.output("values", values);
  graph.output("loss", loss);
  return graph.toOnnx();
};

/** Inputs: weights, targets. Output: values [targets], of the text before each. */
export const valuesModel = (config: Qwen2Config): Uint8Array => {
  const graph = new Graph("values");
  const weights = weightInputs(graph, criticParameters(config));
  graph.output("values", valueForward(config, weights, targetInputs(graph)));
  return graph.toOnnx();
};

/** Inputs: weights, targets, weights per target. Outputs: gradient [parameters], the scalar loss. */
export const cloningModel = (config: Qwen2Config): Uint8Array => {
  const graph = new Graph("cloning");
  const specs = parameters(config);
  const weights = weightInputs(graph, specs);
  const { logp } = policyForward(config, weights, targetInputs(graph), graph.constant(1));
  const loss = cloningLoss(logp, ofTargets(graph, "weights"));
  graph.output("gradient", flatGradient(loss, weights, specs));
  graph.output("loss", loss);
  return graph.toOnnx();
};
