/**
 * What the learner needs of the decoder at its targets, the tokens a batch is trained on: their log-probabilities and entropies at a
 * temperature, and a critic's values, all differentiable by the weights; `scoreModel` is the log-probabilities and entropies as a
 * model. Scores, which are as wide as the vocabulary, are computed at the targets only.
 */

import { add, div } from "../../tensor/Elementwise.ts";
import { Graph, type Tensor } from "../../tensor/Graph.ts";
import { gather } from "../../tensor/Indexing.ts";
import { reshape } from "../../tensor/Layout.ts";
import { gemm } from "../../tensor/Linear.ts";
import type { OnnxModel } from "../../tensor/Onnx.ts";
import { product } from "../../tensor/Shape.ts";
import { type DecoderConfig, VALUE_BIAS, VALUE_WEIGHT } from "./Architecture.ts";
import { logits, outputMatrix, trunk, type Weights, weight } from "./Decoder.ts";
import { policyInputs } from "./Lora.ts";
import {
  chunksFor,
  SMALL_VOCABULARY,
  scoredStatistics,
  type TokenStatistics,
  tokenStatistics,
} from "./TokenStatistics.ts";

/** Sequences and what of them is predicted. */
export interface Targets {
  /** int64 [batch, time], right padded. */
  readonly ids: Tensor;
  /** The position before each target, as an index into batch * time: int64 [targets]. */
  readonly before: Tensor;
}

/** The inputs of a model over targets, under the names that every such model has. */
export const targetInputs = (graph: Graph): Targets => ({
  ids: graph.input("ids", "int64", ["batch", "time"]),
  before: graph.input("before", "int64", ["targets"]),
});

/** How large the passes of a model may be, and what it keeps of the forward pass. */
export interface PassOptions {
  /** Targets of a pass at most: how much of a vocabulary is taken at once. */
  readonly targets: number;
  /** Whether the backward pass makes the numbers inside of a block again. */
  readonly recompute: boolean;
}

const usual: PassOptions = { targets: 1024, recompute: false };

/** Log-probabilities of the targets given the text before each, and the entropies; temperature float32 []. */
export const policyForward = (
  config: DecoderConfig,
  weights: Weights,
  { ids, before }: Targets,
  temperature: Tensor,
  options: PassOptions = usual,
): TokenStatistics => {
  // the temperature divides the hidden states, which are narrower than the scores and give them linearly
  const hidden = div(trunk(config, weights, ids, before, options.recompute), temperature);
  const every = reshape(ids, [product(...ids.shape), 1]);
  const tokens = reshape(gather(every, add(before, 1)), before.shape);
  if (config.vocabSize <= SMALL_VOCABULARY) return scoredStatistics(logits(weights, hidden), tokens);
  return tokenStatistics(hidden, outputMatrix(weights), tokens, chunksFor(options.targets, config.vocabSize));
};

/** A critic's value of the text before each target, float32 [targets]; weights are those of `criticParameters`. */
export const valueForward = (
  config: DecoderConfig,
  weights: Weights,
  { ids, before }: Targets,
  { recompute }: Pick<PassOptions, "recompute"> = usual,
): Tensor => {
  const values = gemm(trunk(config, weights, ids, before, recompute), weight(weights, VALUE_WEIGHT), {
    transB: true,
    bias: weight(weights, VALUE_BIAS),
  });
  return reshape(values, before.shape);
};

/** Model: weights, targets, temperature [] to logp and entropy [targets]. */
export const scoreModel = (config: DecoderConfig, options: PassOptions = usual): OnnxModel => {
  const graph = new Graph("score");
  const weights = policyInputs(graph, config);
  const temperature = graph.input("temperature", "float32", []);
  const { logp, entropy } = policyForward(config, weights, targetInputs(graph), temperature, options);
  graph.output("logp", logp);
  graph.output("entropy", entropy);
  return graph.toModel();
};
