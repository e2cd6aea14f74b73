/**
 * What the learner needs of the decoder at its targets, the tokens a batch is trained on: their log-probabilities and entropies at a
 * temperature, and a critic's values, all differentiable by the weights; `scoreModel` is the log-probabilities and entropies as a
 * model. Scores, which are as wide as the vocabulary, are computed at the targets only.
 */

import { add, div, exp, mul, neg, sub, where } from "../../tensor/Elementwise.ts";
import { Graph, type Tensor } from "../../tensor/Graph.ts";
import { gather, oneHotMask, takeAlong } from "../../tensor/Indexing.ts";
import { reduceSum, reshape } from "../../tensor/Layout.ts";
import { gemm } from "../../tensor/Linear.ts";
import type { OnnxModel } from "../../tensor/Onnx.ts";
import { logSoftmax } from "../../tensor/Reduction.ts";
import { product, sizeOf } from "../../tensor/Shape.ts";
import { type DecoderConfig, VALUE_BIAS, VALUE_WEIGHT } from "./Architecture.ts";
import { logits, trunk, type Weights, weight } from "./Decoder.ts";
import { policyInputs } from "./Lora.ts";

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

export interface PolicyForward {
  /** Log-probability of each target given the text before it, float32 [targets], nats. */
  readonly logp: Tensor;
  /** Entropy of the distribution it is taken from, float32 [targets], nats. */
  readonly entropy: Tensor;
}

/** temperature float32 []. */
export const policyForward = (
  config: DecoderConfig,
  weights: Weights,
  { ids, before }: Targets,
  temperature: Tensor,
): PolicyForward => {
  const hidden = trunk(config, weights, ids, before);
  // the temperature divides the hidden states, which are narrower than the scores and give them linearly
  const scores = logits(weights, div(hidden, temperature));
  const every = reshape(ids, [product(...ids.shape), 1]);
  const { taken, entropy } = tokenStatistics(scores, reshape(gather(every, add(before, 1)), before.shape));
  return { logp: taken, entropy };
};

/**
 * Log-probability of one token of every row of scores [rows, vocab], and the entropy of the row. The gradient to a score is
 * (1 if taken else 0 - p) dtaken - p (log p + entropy) dentropy, which is half the passes over [rows, vocab] of the chain
 * rule's.
 */
const tokenStatistics = (scores: Tensor, tokens: Tensor): { readonly taken: Tensor; readonly entropy: Tensor } => {
  const logp = logSoftmax(scores);
  const p = exp(logp);
  const results = [takeAlong(logp, tokens), neg(reduceSum(mul(p, logp), [-1]))];
  const column = (x: Tensor): Tensor => reshape(x, [...tokens.shape, 1]);
  const [taken, entropy] = scores.graph.alias(
    "tokenStatistics",
    [scores],
    results,
    ([dtaken, dentropy], [, entropy]) => {
      const push = dtaken && where(oneHotMask(tokens, sizeOf(scores.shape, 1)), column(dtaken), 0);
      const spread = dentropy && entropy && mul(add(logp, column(entropy)), column(dentropy));
      const pull = dtaken && spread ? add(spread, column(dtaken)) : (spread ?? (dtaken && column(dtaken)));
      const pulled = pull && mul(p, pull);
      return [push && pulled ? sub(push, pulled) : pulled && neg(pulled)];
    },
  );
  if (taken === undefined || entropy === undefined) throw new RangeError("an alias of two results has two");
  return { taken, entropy };
};

/** A critic's value of the text before each target, float32 [targets]; weights are those of `criticParameters`. */
export const valueForward = (config: DecoderConfig, weights: Weights, { ids, before }: Targets): Tensor => {
  const values = gemm(trunk(config, weights, ids, before), weight(weights, VALUE_WEIGHT), {
    transB: true,
    bias: weight(weights, VALUE_BIAS),
  });
  return reshape(values, before.shape);
};

/** Model: weights, targets, temperature [] to logp and entropy [targets]. */
export const scoreModel = (config: DecoderConfig): OnnxModel => {
  const graph = new Graph("score");
  const weights = policyInputs(graph, config);
  const temperature = graph.input("temperature", "float32", []);
  const { logp, entropy } = policyForward(config, weights, targetInputs(graph), temperature);
  graph.output("logp", logp);
  graph.output("entropy", entropy);
  return graph.toModel();
};
