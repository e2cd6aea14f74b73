/** Matrix products, and by composition the operators of onnxruntime that a transformer is made of. */
import { MICROSOFT } from "../../../tensor/Onnx.ts";
import { type Call, floatOf, intOf, type Operator, UnsupportedNode } from "../Call.ts";
import type { Tensor } from "../peer.ts";
import { broadcastShape } from "./layout.ts";

const scaled = ({ tf }: Call, x: Tensor, factor: number): Tensor => (factor === 1 ? x : tf.mul(x, factor));

const gemm: Operator = (call) => {
  const { has, input, node, tf } = call;
  const product = tf.matMul<Tensor>(input(0), input(1), intOf(node, "transA", 0) === 1, intOf(node, "transB", 0) === 1);
  const result = scaled(call, product, floatOf(node, "alpha", 1));
  return has(2) ? tf.add(result, scaled(call, input(2), floatOf(node, "beta", 1))) : result;
};

/**
 * Multiplies stacks of matrices whose leading axes broadcast. If only the last leading axis of b is 1, that axis of a becomes rows.
 * So b, which may be a cache, is not copied. Otherwise both are repeated, because tfjs only broadcasts whole stacks.
 */
const fusedMatMul: Operator = (call) => {
  const { input, node, tf } = call;
  const [a, b] = [input(0), input(1)];
  const [transA, transB] = [intOf(node, "transA", 0) === 1, intOf(node, "transB", 0) === 1];
  const alpha = floatOf(node, "alpha", 1);
  const [stackA, stackB] = [a.shape.slice(0, -2), b.shape.slice(0, -2)];
  const same = String(stackA) === String(stackB);
  if (same) return scaled(call, tf.matMul<Tensor>(a, b, transA, transB), alpha);
  const shared = stackB.at(-1) === 1 && String(stackA.slice(0, -1)) === String(stackB.slice(0, -1));
  if (shared && !transA) {
    const [group = 1, rows = 1, inner = 1] = a.shape.slice(-3);
    const outer = stackA.slice(0, -1);
    const folded = tf.reshape(a, [...outer, group * rows, inner]);
    const product = tf.matMul<Tensor>(folded, tf.reshape(b, [...outer, ...b.shape.slice(-2)]), false, transB);
    return scaled(call, tf.reshape(product, [...outer, group, rows, product.shape.at(-1) ?? 1]), alpha);
  }
  const stack = broadcastShape(stackA, stackB);
  const repeated = (x: Tensor): Tensor => tf.broadcastTo(x, [...stack, ...x.shape.slice(-2)]);
  return scaled(call, tf.matMul<Tensor>(repeated(a), repeated(b), transA, transB), alpha);
};

/** weight x s with s = 1 / sqrt(mean(x^2) + epsilon) over the last axis; the second output is s. */
const simplifiedLayerNormalization: Operator = ({ input, node, tf }) => {
  const [x, weight] = [input(0), input(1)];
  if (![-1, x.rank - 1].includes(intOf(node, "axis", -1))) throw new UnsupportedNode(node, "only the last axis");
  const scale = tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), floatOf(node, "epsilon", 1e-5)));
  return [tf.mul(tf.mul(x, scale), weight), scale];
};

/**
 * Rotary positions in the halves convention: x [batch, time, heads * width], positions [batch, time] or [1] for the first column's, cos and
 * sin [positions, width / 2].
 */
const rotaryEmbedding: Operator = ({ input, node, tf }) => {
  const [x, positions, cos, sin] = [input(0), input(1), input(2), input(3)];
  if (x.rank !== 3) throw new UnsupportedNode(node, "only [batch, time, heads * width]");
  if (intOf(node, "interleaved", 0) !== 0 || intOf(node, "rotary_embedding_dim", 0) !== 0)
    throw new UnsupportedNode(node, "only whole heads in halves");
  const [batch = 0, time = 0, wide = 0] = x.shape;
  const half = cos.shape[1] ?? 0;
  const heads = wide / (2 * half);
  const columns = positions.size === 1 && positions.rank === 1;
  const places = columns ? tf.add(tf.range(0, time, 1, "int32"), positions) : tf.reshape(positions, [batch * time]);
  const angles = (table: Tensor): Tensor => tf.reshape(tf.gather(table, places), [columns ? 1 : batch, time, 1, half]);
  const [c, s] = [angles(cos), angles(sin)];
  const split = tf.reshape(x, [batch, time, heads, 2 * half]);
  const part = (start: number): Tensor => tf.slice(split, [0, 0, 0, start], [batch, time, heads, half]);
  const [a, b] = [part(0), part(half)];
  const turned = tf.concat([tf.sub(tf.mul(a, c), tf.mul(b, s)), tf.add(tf.mul(b, c), tf.mul(a, s))], 3);
  return tf.reshape(turned, x.shape);
};

export const transformer: Readonly<Record<string, Operator>> = {
  Gemm: gemm,
  SimplifiedLayerNormalization: simplifiedLayerNormalization,
  [`${MICROSOFT}.FusedMatMul`]: fusedMatMul,
  [`${MICROSOFT}.RotaryEmbedding`]: rotaryEmbedding,
};
