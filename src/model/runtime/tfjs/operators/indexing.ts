/**
 * Operators that read and write by index. In differentiable runs floats use a product with a one-hot matrix.
 * tfjs has no gradient of a scatter. Its gradient of a gather is a scatter, which some of its backends lack.
 */
import { type Call, elements, intOf, type Operator, positionOf, textOf, UnsupportedNode } from "../Call.ts";
import type { Tensor } from "../peer.ts";

const gather: Operator = ({ differentiable, input, node, tf }: Call) => {
  const [table, indices] = [input(0), input(1)];
  const axis = positionOf(intOf(node, "axis", 0), table.rank);
  const [rows, width] = table.shape;
  if (!differentiable || table.dtype !== "float32" || axis !== 0 || rows === undefined || width === undefined)
    return tf.gather(table, indices, axis);
  const chosen = tf.oneHot(tf.reshape(indices, [indices.size]), rows, 1, 0, "float32");
  const rowsTaken = tf.matMul(chosen, tf.reshape(table, [rows, table.size / rows]));
  return tf.reshape(rowsTaken, [...indices.shape, ...table.shape.slice(1)]);
};

/** Elements along the last axis: x [..., size] and indices [..., count] with the same leading axes. */
const gatherElements: Operator = ({ differentiable, input, node, tf }: Call) => {
  const [x, indices] = [input(0), input(1)];
  if (positionOf(intOf(node, "axis", 0), x.rank) !== x.rank - 1) throw new UnsupportedNode(node, "only the last axis");
  const size = x.shape.at(-1) ?? 1;
  const count = indices.shape.at(-1) ?? 1;
  const rows = elements(x.shape.slice(0, -1));
  if (differentiable && x.dtype === "float32") {
    const chosen = tf.oneHot(tf.reshape(indices, [rows, count]), size, 1, 0, "float32");
    return tf.reshape(tf.sum(tf.mul(chosen, tf.reshape(x, [rows, 1, size])), -1), indices.shape);
  }
  const starts = tf.reshape(tf.mul(tf.range(0, rows, 1, "int32"), tf.scalar(size, "int32")), [rows, 1]);
  const places = tf.add(tf.reshape(indices, [rows, count]), starts);
  return tf.reshape(tf.gather(tf.reshape(x, [x.size]), tf.reshape(places, [rows * count])), indices.shape);
};

/** The place in a row-major `shape` of each element of `indices`, whose entries replace the position along `axis`. */
const flatPlaces = ({ tf }: Call, shape: readonly number[], indices: Tensor, axis: number): Tensor => {
  const stride = (at: number): number => elements(shape.slice(at + 1));
  const along = (size: number, at: number): number[] => indices.shape.map((_, i) => (i === at ? size : 1));
  let places = tf.mul(indices, tf.scalar(stride(axis), "int32"));
  for (const [at, size] of indices.shape.entries()) {
    if (at === axis || size === 1) continue;
    const steps = tf.mul(tf.range(0, size, 1, "int32"), tf.scalar(stride(at), "int32"));
    places = tf.add(places, tf.reshape(steps, along(size, at)));
  }
  return tf.reshape(places, [indices.size, 1]);
};

/** Written elements must differ in place; added ones may repeat. */
const scatterElements: Operator = (call) => {
  const { differentiable, input, node, tf } = call;
  const [x, indices, updates] = [input(0), input(1), input(2)];
  const reduction = textOf(node, "reduction", "none");
  if (reduction !== "none" && reduction !== "add") throw new UnsupportedNode(node, `no reduction "${reduction}"`);
  const places = flatPlaces(call, x.shape, indices, positionOf(intOf(node, "axis", 0), x.rank));
  const scattered = (values: Tensor): Tensor => {
    const flat = tf.reshape(values, [1, values.size]);
    const added = differentiable
      ? tf.matMul(flat, tf.oneHot(tf.reshape(places, [values.size]), x.size, 1, 0, "float32"))
      : tf.scatterND(places, tf.reshape(flat, [values.size]), [x.size]);
    return tf.reshape(added, x.shape);
  };
  if (reduction === "add") return tf.add(x, scattered(updates));
  return tf.where(tf.greater(scattered(tf.onesLike(updates)), 0), scattered(updates), x);
};

/** Written rows must differ in place. */
const scatterNd: Operator = ({ input, tf }) => {
  const [x, indices, updates] = [input(0), input(1), input(2)];
  return tf.tensorScatterUpdate(x, tf.cast(indices, "int32"), updates);
};

export const indexing: Readonly<Record<string, Operator>> = {
  Gather: gather,
  GatherElements: gatherElements,
  ScatterElements: scatterElements,
  ScatterND: scatterNd,
};
