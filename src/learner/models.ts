/**
 * The learner's ONNX models: one forward and backward pass of actor, critic and behaviour cloning. Weights and a padded
 * micro-batch enter; the gradient of its share of the loss leaves as one flat vector in parameter order, beside scalars and
 * per-token values. Invariant: summing the gradients of a mini-batch's micro-batches gives the mini-batch's gradient.
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
import { policyForward, valueForward } from "../policy/model/Score.ts";
import { gradients } from "../tensor/Gradients.ts";
import { Graph, type Tensor } from "../tensor/Graph.ts";
import { concat, reshape, slice } from "../tensor/Layout.ts";
import { cloningLoss, type PolicyLossOptions, policyLoss } from "./losses/policyLoss.ts";
import { valueLoss } from "./losses/valueLoss.ts";

const targets = ["batch", "time-1"] as const;

const flatGradient = (loss: Tensor, weights: Weights, specs: readonly ParameterSpec[]): Tensor => {
  const ordered = specs.map(({ name }) => weight(weights, name));
  const flat = gradients(loss, ordered).map((gradient, i) => reshape(gradient, [elementCount(specs[i].shape)]));
  return concat(flat, 0);
};

export const policyLossOptions = (actor: RunConfig["actor"]): PolicyLossOptions => ({
  clip: { low: actor.clip_ratio_low, high: actor.clip_ratio_high, dual: actor.clip_ratio_c },
  entropyCoefficient: actor.entropy_coeff,
  kl: actor.use_kl_loss ? { coefficient: actor.kl_loss_coef, type: actor.kl_loss_type } : undefined,
});

/**
 * Inputs: weights, ids [batch, time], temperature [], then per target [batch, time - 1]: old, advantages, weights, importance and,
 * with a KL loss, reference. Outputs: gradient [parameters], logp [batch, time - 1], and the scalars surrogate, entropy, kl.
 */
export const actorModel = (config: Qwen2Config, options: PolicyLossOptions): Uint8Array => {
  const graph = new Graph("actor");
  const specs = parameters(config);
  const weights = weightInputs(graph, specs);
  const ids = graph.input("ids", "int64", ["batch", "time"]);
  const { logp, entropy } = policyForward(config, weights, ids, graph.input("temperature", "float32", []));
  const loss = policyLoss(
    {
      logp,
      entropy,
      old: graph.input("old", "float32", targets),
      advantages: graph.input("advantages", "float32", targets),
      weights: graph.input("weights", "float32", targets),
      importance: graph.input("importance", "float32", targets),
      reference: options.kl === undefined ? undefined : graph.input("reference", "float32", targets),
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
 * Inputs: weights, ids [batch, time], then per target [batch, time - 1]: old, returns, weights.
 * Outputs: gradient [parameters], values [batch, time - 1] and the scalar loss.
 */
export const criticModel = (config: Qwen2Config, clipRange: number): Uint8Array => {
  const graph = new Graph("critic");
  const specs = criticParameters(config);
  const weights = weightInputs(graph, specs);
  const ids = graph.input("ids", "int64", ["batch", "time"]);
  const values = slice(valueForward(config, weights, ids), 1, 0, "time-1");
  const loss = valueLoss(
    {
      values,
      old: graph.input("old", "float32", targets),
      returns: graph.input("returns", "float32", targets),
      weights: graph.input("weights", "float32", targets),
    },
    clipRange,
  );
  graph.output("gradient", flatGradient(loss, weights, specs));
  graph.output("values", values);
  graph.output("loss", loss);
  return graph.toOnnx();
};

/** Inputs: weights, ids [batch, time]. Output: values [batch, time - 1], of the text before each target. */
export const valuesModel = (config: Qwen2Config): Uint8Array => {
  const graph = new Graph("values");
  const weights = weightInputs(graph, criticParameters(config));
  const ids = graph.input("ids", "int64", ["batch", "time"]);
  graph.output("values", slice(valueForward(config, weights, ids), 1, 0, "time-1"));
  return graph.toOnnx();
};

/** Inputs: weights, ids [batch, time], weights per target [batch, time - 1]. Outputs: gradient [parameters], the scalar loss. */
export const cloningModel = (config: Qwen2Config): Uint8Array => {
  const graph = new Graph("cloning");
  const specs = parameters(config);
  const weights = weightInputs(graph, specs);
  const ids = graph.input("ids", "int64", ["batch", "time"]);
  const { logp } = policyForward(config, weights, ids, graph.constant(1));
  const loss = cloningLoss(logp, graph.input("weights", "float32", targets));
  graph.output("gradient", flatGradient(loss, weights, specs));
  graph.output("loss", loss);
  return graph.toOnnx();
};
