/**
 * The decoder's next-token log-probabilities and entropies written again in tfjs, straight from the definition, one row at a
 * time: an oracle for values and gradients that shares no code with src.
 */
import * as tf from "@tensorflow/tfjs";
import type { DecoderConfig } from "../../../src/model/graphs/Architecture.ts";

type Weights = Readonly<Record<string, tf.Tensor>>;

const rms = (x: tf.Tensor2D, weight: tf.Tensor, epsilon: number): tf.Tensor2D =>
  x.div(x.square().mean(-1, true).add(epsilon).sqrt()).mul(weight);

/** Radians a position of pair i, by the wavelengths that Llama 3.1 names. */
const frequency = ({ headDim, ropeScaling, ropeTheta }: DecoderConfig, i: number): number => {
  const plain = 1 / ropeTheta ** ((2 * i) / headDim);
  if (ropeScaling.type === "default") return plain;
  if (ropeScaling.type === "linear") return plain / ropeScaling.factor;
  const { factor, highFrequencyFactor, lowFrequencyFactor, originalMaxPositions } = ropeScaling;
  const wavelength = (2 * Math.PI) / plain;
  if (wavelength < originalMaxPositions / highFrequencyFactor) return plain;
  if (wavelength > originalMaxPositions / lowFrequencyFactor) return plain / factor;
  const smooth = (originalMaxPositions / wavelength - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
  return (1 - smooth) * (plain / factor) + smooth * plain;
};

/** Turns the pairs (i, i + headDim / 2) of x [time, headDim] by position * frequency. */
const turn = (x: tf.Tensor2D, config: DecoderConfig): tf.Tensor2D => {
  const [time, width] = x.shape;
  const angles = tf.tensor2d(
    Array.from({ length: time }, (_, position) =>
      Array.from({ length: width / 2 }, (_, i) => position * frequency(config, i)),
    ),
  );
  const [a, b] = tf.split(x, 2, 1) as [tf.Tensor2D, tf.Tensor2D];
  const [cos, sin] = [angles.cos(), angles.sin()];
  return tf.concat([a.mul(cos).sub(b.mul(sin)), b.mul(cos).add(a.mul(sin))], 1) as tf.Tensor2D;
};

/** Final hidden states [time, hiddenSize] of one row. */
export const oracleTrunk = (config: DecoderConfig, weights: Weights, ids: readonly number[]): tf.Tensor2D => {
  const { headDim, heads, kvHeads, rmsNormEps } = config;
  const time = ids.length;
  const future = tf.tensor2d(
    Array.from({ length: time }, (_, row) => Array.from({ length: time }, (_, column) => (column > row ? -1e9 : 0))),
  );
  let x = tf.gather(weights["model.embed_tokens.weight"] as tf.Tensor2D, tf.tensor1d([...ids], "int32")) as tf.Tensor2D;
  for (let layer = 0; layer < config.layers; layer += 1) {
    const weightOf = (name: string): tf.Tensor => weights[`model.layers.${layer}.${name}`]!;
    const linear = (input: tf.Tensor2D, name: string): tf.Tensor2D =>
      tf.matMul(input, weightOf(`${name}.weight`) as tf.Tensor2D, false, true);
    const normed = rms(x, weightOf("input_layernorm.weight"), rmsNormEps);
    const project = (name: string, count: number): tf.Tensor2D[] => {
      const [product, bias] = [linear(normed, name), weights[`model.layers.${layer}.${name}.bias`]];
      return tf.split(bias === undefined ? product : product.add(bias), count, 1) as tf.Tensor2D[];
    };
    const turned = (name: string, count: number, norm: string): tf.Tensor2D[] =>
      project(name, count).map((head) =>
        turn(config.queryKeyNorm ? rms(head, weightOf(`${norm}.weight`), rmsNormEps) : head, config),
      );
    const queries = turned("self_attn.q_proj", heads, "self_attn.q_norm");
    const keys = turned("self_attn.k_proj", kvHeads, "self_attn.k_norm");
    const values = project("self_attn.v_proj", kvHeads);
    const mixed = queries.map((query, head) => {
      const source = Math.floor((head * kvHeads) / heads);
      const scores = tf.matMul(query, keys[source]!, false, true).div(Math.sqrt(headDim)).add(future);
      return tf.matMul(tf.softmax(scores) as tf.Tensor2D, values[source]!);
    });
    x = x.add(linear(tf.concat(mixed, 1) as tf.Tensor2D, "self_attn.o_proj"));
    const middle = rms(x, weightOf("post_attention_layernorm.weight"), rmsNormEps);
    const gate = linear(middle, "mlp.gate_proj");
    const gated = gate.mul(gate.sigmoid()).mul(linear(middle, "mlp.up_proj")) as tf.Tensor2D;
    x = x.add(linear(gated, "mlp.down_proj"));
  }
  return rms(x, weights["model.norm.weight"]!, rmsNormEps);
};

export interface OracleScores {
  readonly logp: tf.Tensor;
  readonly entropy: tf.Tensor;
}

/** Log-probability and entropy [time - 1] of every next token of one row. */
export const oracleScores = (
  config: DecoderConfig,
  weights: Weights,
  ids: readonly number[],
  temperature: number,
): OracleScores => {
  const hidden = oracleTrunk(config, weights, ids);
  const output = config.tieEmbedding ? "model.embed_tokens.weight" : "lm_head.weight";
  const table = weights[output] as tf.Tensor2D;
  const logits = tf
    .matMul(hidden, table, false, true)
    .div(temperature)
    .slice(0, ids.length - 1);
  const logp = tf.logSoftmax(logits);
  const chosen = tf.oneHot(tf.tensor1d(ids.slice(1), "int32"), config.vocabSize).toFloat();
  return { logp: logp.mul(chosen).sum(-1), entropy: logp.exp().mul(logp).sum(-1).neg() };
};
