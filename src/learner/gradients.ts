/**
 * Gradients as a model's outputs: one for each trained parameter, under a name made of the parameter's. What is trained may be less than
 * what the model reads: weights that are not trained have no gradient.
 */
import type { ParameterSpec } from "../model/graphs/Architecture.ts";
import { type Weights, weight } from "../model/graphs/Decoder.ts";
import type { Graph, Tensor } from "../model/tensor/Graph.ts";

/** "gradient of model.norm.weight" */
export const gradientName = ({ name }: ParameterSpec): string => `gradient of ${name}`;

/** Names the gradients by the trained parameters, which `by` gives in the order it is told their tensors. */
export const outputGradients = (
  graph: Graph,
  by: (ordered: readonly Tensor[]) => readonly Tensor[],
  weights: Weights,
  trained: readonly ParameterSpec[],
): void => {
  const gradients = by(trained.map(({ name }) => weight(weights, name)));
  for (const [i, spec] of trained.entries()) graph.output(gradientName(spec), gradients[i]!);
};
