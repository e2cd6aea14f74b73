/**
 * What the learner and the scorer read off the decoder: log-probabilities and entropies of next tokens at a temperature, and
 * a critic's values. Differentiable by the weights; `scoreModel` and `valueModel` are the same forwards as ready models.
 */
import { div, exp, mul, neg } from "../../tensor/Elementwise.ts";
import { Graph, type Tensor } from "../../tensor/Graph.ts";
import { takeAlong } from "../../tensor/Indexing.ts";
import { concat, reduceSum, reshape, slice } from "../../tensor/Layout.ts";
import { gemm } from "../../tensor/Linear.ts";
import { logSoftmax } from "../../tensor/Reduction.ts";
import { type Dim, difference, product } from "../../tensor/Shape.ts";
import { criticParameters, parameters, type Qwen2Config, VALUE_BIAS, VALUE_WEIGHT } from "./Architecture.ts";
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
  const tokens = product(batch, time);
  const before = difference(time, 1);
  const scores = logits(weights, trunk(config, weights, ids));
  const logp = logSoftmax(div(scores, temperature));
  const next = concat([slice(ids, 1, 1, time), slice(ids, 1, 0, 1)], 1);
  const taken = takeAlong(logp, reshape(next, [tokens]));
  const entropy = neg(reduceSum(mul(exp(logp), logp), [-1]));
  const columns = (x: Tensor): Tensor => slice(reshape(x, [batch, time]), 1, 0, before);
  return { logp: columns(taken), entropy: columns(entropy) };
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

/** Model: weights, ids int64 [batch, time] to values [batch, time]. */
export const valueModel = (config: Qwen2Config): Uint8Array => {
  const graph = new Graph("value");
  const weights = weightInputs(graph, criticParameters(config));
  const ids = graph.input("ids", "int64", ["batch", "time"]);
  graph.output("values", valueForward(config, weights, ids));
  return graph.toOnnx();
};
