/**
 * Gradients as outputs of a model, one for each trained parameter. A model may read more weights than are trained; those have no gradient.
 */
import type { ParameterSpec } from "../model/graphs/Architecture.ts";
import { type Weights, weight } from "../model/graphs/Decoder.ts";
import type { Graph, Tensor } from "../model/tensor/Graph.ts";

/** Names the output, for example "gradient of model.norm.weight". */
export const gradientName = ({ name }: ParameterSpec): string => `gradient of ${name}`;

/** Adds an output for each trained parameter. `by` computes the gradients of the tensors it gets, in their order. */
export const outputGradients = (
  graph: Graph,
  by: (ordered: readonly Tensor[]) => readonly Tensor[],
  weights: Weights,
  trained: readonly ParameterSpec[],
): void => {
  const gradients = by(trained.map(({ name }) => weight(weights, name)));
  for (const [i, spec] of trained.entries()) graph.output(gradientName(spec), gradients[i]!);
};
