/**
 * An adapter in a graph: its inputs and its effect on a linear layer. Its factor is an input, so the factor 0 gives the decoder
 * without it.
 * The reference policy therefore needs no weights of its own.
 */
import { mul } from "../tensor/Elementwise.ts";
import type { Graph, Tensor } from "../tensor/Graph.ts";
import { gemm } from "../tensor/Linear.ts";
import type { DecoderConfig, ParameterSpec } from "./Architecture.ts";
import { codedInputs, codedSpecs, type NumberFormat, uncodedSpecs } from "./NumberFormat.ts";
import {
  frozenCriticParameters,
  frozenParameters,
  loraA,
  loraB,
  trainedCriticParameters,
  trainedParameters,
} from "./TrainedParameters.ts";

/** Graph tensors of parameters by name, and of the adapter's factor. */
export type Weights = ReadonlyMap<string, Tensor>;

/** The input that holds the adapter's factor, float32 []. */
export const ADAPTER_SCALE = "adapter.scale";

const inputs = (graph: Graph, config: DecoderConfig, specs: readonly ParameterSpec[]): Weights => {
  const weights = new Map(specs.map(({ name, shape }) => [name, graph.input(name, "float32", shape)]));
  if (config.adapter !== undefined) weights.set(ADAPTER_SCALE, graph.input(ADAPTER_SCALE, "float32", []));
  return weights;
};

/** Adds the policy's inputs: one per parameter under its name, two for a matrix in codes, and one for an adapter's factor. */
export const policyInputs = (graph: Graph, config: DecoderConfig, format: NumberFormat = "float32"): Weights => {
  const coded = codedSpecs(format, config);
  const specs = uncodedSpecs(coded, [...frozenParameters(config), ...trainedParameters(config)]);
  return new Map([...inputs(graph, config, specs), ...codedInputs(graph, coded)]);
};

/** Adds the critic's inputs: one per parameter under its name, and one for an adapter's factor. */
export const criticInputs = (graph: Graph, config: DecoderConfig): Weights =>
  inputs(graph, config, [...frozenCriticParameters(config), ...trainedCriticParameters(config)]);

/**
 * Adds the adapter's part to the output [rows, out] of the linear layer `module` over `input` [rows, in] (Hu et al. 2021, equation 3).
 * Without an adapter at that layer it returns `output`.
 */
export const addAdapter = (weights: Weights, module: string, input: Tensor, output: Tensor): Tensor => {
  const [a, b, scale] = [weights.get(loraA(module)), weights.get(loraB(module)), weights.get(ADAPTER_SCALE)];
  if (a === undefined || b === undefined || scale === undefined) return output;
  return gemm(mul(gemm(input, a, { transB: true }), scale), b, { transB: true, bias: output });
};
