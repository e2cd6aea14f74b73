/**
 * The decoder at its targets, the tokens that a batch trains on: log-probabilities, entropies and a critic's values, differentiable by
 * the weights.
 * Scores, which are as wide as the vocabulary, are computed at the targets only. `scoreModel` is the forward pass as a model.
 */

import { add, div } from "../tensor/Elementwise.ts";
import { Graph, type Tensor } from "../tensor/Graph.ts";
import { gather } from "../tensor/Indexing.ts";
import { reshape } from "../tensor/Layout.ts";
import { gemm } from "../tensor/Linear.ts";
import type { OnnxModel } from "../tensor/Onnx.ts";
import { product } from "../tensor/Shape.ts";
import { type DecoderConfig, VALUE_BIAS, VALUE_WEIGHT } from "./Architecture.ts";
import { logits, outputMatrix, type Recompute, trunk, type Weights, weight } from "./Decoder.ts";
import { policyInputs } from "./Lora.ts";
import { sharedPromptInputs, sharedTrunk } from "./SharedPrompts.ts";
import {
  chunksFor,
  SMALL_VOCABULARY,
  scoredStatistics,
  type TokenStatistics,
  tokenStatistics,
} from "./TokenStatistics.ts";

/** The predicted tokens of a text. */
export interface Targets {
  /** The decoder's hidden states at the position before each target, [targets, hiddenSize]. */
  readonly hidden: (config: DecoderConfig, weights: Weights, recompute: Recompute) => Tensor;
  /** The target's own id, int64 [targets]. */
  readonly tokens: Tensor;
}

/** Options of a model's passes. */
export interface PassOptions {
  /** Most targets of a pass, which decides how much of a vocabulary is taken at once. */
  readonly targets: number;
  /** Part that the backward pass recomputes. */
  readonly recompute: Recompute;
  /** True if sequences share the prefixes they begin with. */
  readonly shared: boolean;
}

const defaultOptions: PassOptions = { targets: 1024, recompute: "nothing", shared: false };

/** Targets of whole sequences: ids int64 [batch, time], right padded; before int64 [targets], an index into batch * time. */
export const sequenceTargets = (ids: Tensor, before: Tensor): Targets => ({
  hidden: (config, weights, recompute) => trunk(config, weights, ids, before, recompute),
  tokens: reshape(gather(reshape(ids, [product(...ids.shape), 1]), add(before, 1)), before.shape),
});

/**
 * The inputs of a model over targets, under the names that every such model has: ids and before as in `sequenceTargets`. With `shared` those
 * of `SharedPrompts`, before as an index into its rows, and tokens int64 [targets].
 */
export const targetInputs = (graph: Graph, { shared }: Pick<PassOptions, "shared"> = defaultOptions): Targets => {
  if (shared) {
    const text = sharedPromptInputs(graph);
    const before = graph.input("before", "int64", ["targets"]);
    return {
      hidden: (config, weights, recompute) => sharedTrunk(config, weights, text, before, recompute),
      tokens: graph.input("tokens", "int64", ["targets"]),
    };
  }
  return sequenceTargets(graph.input("ids", "int64", ["batch", "time"]), graph.input("before", "int64", ["targets"]));
};

/** Log-probabilities of the targets given the text before each, and the entropies; temperature float32 []. */
export const policyForward = (
  config: DecoderConfig,
  weights: Weights,
  { hidden: hiddenOf, tokens }: Targets,
  temperature: Tensor,
  options: PassOptions = defaultOptions,
): TokenStatistics => {
  // the temperature divides the hidden states, which are narrower than the scores and give them linearly
  const hidden = div(hiddenOf(config, weights, options.recompute), temperature);
  if (config.vocabSize <= SMALL_VOCABULARY) return scoredStatistics(logits(weights, hidden), tokens);
  return tokenStatistics(hidden, outputMatrix(weights), tokens, chunksFor(options.targets, config.vocabSize));
};

/** A critic's value of the text before each target, float32 [targets]; weights are those of `criticParameters`. */
export const valueForward = (
  config: DecoderConfig,
  weights: Weights,
  { hidden, tokens }: Targets,
  { recompute }: Pick<PassOptions, "recompute"> = defaultOptions,
): Tensor => {
  const values = gemm(hidden(config, weights, recompute), weight(weights, VALUE_WEIGHT), {
    transB: true,
    bias: weight(weights, VALUE_BIAS),
  });
  return reshape(values, tokens.shape);
};

/** Model: weights, targets, temperature [] to logp and entropy [targets]. */
export const scoreModel = (config: DecoderConfig, options: PassOptions = defaultOptions): OnnxModel => {
  const graph = new Graph("score");
  const weights = policyInputs(graph, config);
  const temperature = graph.input("temperature", "float32", []);
  const { logp, entropy } = policyForward(config, weights, targetInputs(graph, options), temperature, options);
  graph.output("logp", logp);
  graph.output("entropy", entropy);
  return graph.toModel();
};
