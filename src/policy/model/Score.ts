/**
 * What the learner and the scorer read off the decoder: log-probabilities and entropies of next tokens at a temperature, and
 * a critic's values. Differentiable by the weights; `scoreModel` is the first as a ready model.
 */
import { add, div, exp, mul, neg, sub, where } from "../../tensor/Elementwise.ts";
import { Graph, type Tensor } from "../../tensor/Graph.ts";
import { oneHotMask, takeAlong } from "../../tensor/Indexing.ts";
import { concat, reduceSum, reshape, slice } from "../../tensor/Layout.ts";
import { gemm } from "../../tensor/Linear.ts";
import { logSoftmax } from "../../tensor/Reduction.ts";
import { type Dim, difference, product } from "../../tensor/Shape.ts";
import { parameters, type Qwen2Config, VALUE_BIAS, VALUE_WEIGHT } from "./Architecture.ts";
import { logits, trunk, type Weights, weight, weightInputs } from "./Qwen2.ts";

export interface PolicyForward {
  /** Log-probability of ids[:, t + 1] given ids[:, ..t], float32 [batch, time - 1], nats. */
  readonly logp: Tensor;
  /** Entropy of the distribution it is taken from, float32 [batch, time - 1], nats. */
  readonly entropy: Tensor;
}

/** ids int64 [batch, time], right padded; temperature float32 []. */
export const policyForward = (
  config: Qwen2Config,
  weights: Weights,
  ids: Tensor,
  temperature: Tensor,
): PolicyForward => {
  const [batch, time] = ids.shape as [Dim, Dim];
  const hidden = trunk(config, weights, ids);
  // the temperature divides the hidden states, which are narrower than the scores and give them linearly
  const scores = logits(weights, div(hidden, temperature));
  // the last column predicts nothing and is cut off below
  const next = concat([slice(ids, 1, 1, time), slice(ids, 1, 0, 1)], 1);
  const columns = (x: Tensor): Tensor => slice(reshape(x, [batch, time]), 1, 0, difference(time, 1));
  const { taken, entropy } = tokenStatistics(scores, reshape(next, [product(batch, time)]));
  return { logp: columns(taken), entropy: columns(entropy) };
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
      const push = dtaken && where(oneHotMask(tokens, scores.shape[1]!), column(dtaken), 0);
      const spread = dentropy && mul(add(logp, column(entropy!)), column(dentropy));
      const pull = dtaken && spread ? add(spread, column(dtaken)) : (spread ?? (dtaken && column(dtaken)));
      const pulled = pull && mul(p, pull);
      return [push && pulled ? sub(push, pulled) : pulled && neg(pulled)];
    },
  );
  return { taken: taken!, entropy: entropy! };
};

/** A critic's value at every position, float32 [batch, time]; weights are those of `criticParameters`. */
export const valueForward = (config: Qwen2Config, weights: Weights, ids: Tensor): Tensor => {
  const values = gemm(trunk(config, weights, ids), weight(weights, VALUE_WEIGHT), {
    transB: true,
    bias: weight(weights, VALUE_BIAS),
  });
  return reshape(values, ids.shape);
};

/** Model: weights, ids int64 [batch, time], temperature [] to logp and entropy [batch, time - 1]. */
export const scoreModel = (config: Qwen2Config): Uint8Array => {
  const graph = new Graph("score");
  const weights = weightInputs(graph, parameters(config));
  const ids = graph.input("ids", "int64", ["batch", "time"]);
  const temperature = graph.input("temperature", "float32", []);
  const { logp, entropy } = policyForward(config, weights, ids, temperature);
  graph.output("logp", logp);
  graph.output("entropy", entropy);
  return graph.toOnnx();
};
