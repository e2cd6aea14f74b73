/**
 * The policy's pass with the task, entropy and KL parts of its loss weighted by inputs, so that one model gives each part's gradient.
 * Invariant: with the run file's coefficients its gradient is that of the update.
 */

import type { DecoderConfig, ParameterSpec } from "../../model/graphs/Architecture.ts";
import { policyInputs } from "../../model/graphs/Lora.ts";
import { type PassOptions, policyForward, targetInputs } from "../../model/graphs/Score.ts";
import { trainedParameters } from "../../model/graphs/TrainedParameters.ts";
import { add, mul } from "../../model/tensor/Elementwise.ts";
import { gradients } from "../../model/tensor/Gradients.ts";
import { Graph } from "../../model/tensor/Graph.ts";
import type { OnnxModel } from "../../model/tensor/Onnx.ts";
import { outputGradients } from "../gradients.ts";
import { type PolicyLossOptions, policyLoss, targetLossInputs } from "../losses/policyLoss.ts";

/**
 * Inputs: those of the actor's model, and the scalars task_weight, entropy_weight and, with a KL loss, kl_weight. Outputs: the gradients,
 * and the scalars surrogate, entropy, kl before their weights.
 */
export const partsModel = (
  config: DecoderConfig,
  options: PolicyLossOptions,
  trained: readonly ParameterSpec[] = trainedParameters(config),
  pass?: PassOptions,
): OnnxModel => {
  const graph = new Graph("parts");
  const weights = policyInputs(graph, config);
  const temperature = graph.input("temperature", "float32", []);
  const { logp, entropy } = policyForward(config, weights, targetInputs(graph, pass), temperature, pass);
  const parts = policyLoss({ logp, entropy, ...targetLossInputs(graph, options) }, options);
  const weighed = add(
    mul(parts.surrogate, graph.input("task_weight", "float32", [])),
    mul(parts.entropy, graph.input("entropy_weight", "float32", [])),
  );
  const loss = parts.kl === undefined ? weighed : add(weighed, mul(parts.kl, graph.input("kl_weight", "float32", [])));
  outputGradients(graph, (ordered) => gradients(loss, ordered), weights, trained);
  graph.output("surrogate", parts.surrogate);
  graph.output("entropy", parts.entropy);
  if (parts.kl !== undefined) graph.output("kl", parts.kl);
  return graph.toModel();
};
