/** Operators that move, repeat or join elements, and those that add them up over axes. */
import { type Call, elements, intOf, intsOf, type Operator, positionOf, UnsupportedNode } from "../Call.ts";
import type { Tensor, Tf } from "../peer.ts";

/** Numpy broadcasting of two shapes. */
export const broadcastShape = (a: readonly number[], b: readonly number[]): number[] =>
  Array.from({ length: Math.max(a.length, b.length) }, (_, i, rank = Math.max(a.length, b.length)) => {
    const left = a[i - rank + a.length] ?? 1;
    const right = b[i - rank + b.length] ?? 1;
    return left === 1 ? right : left;
  });

const bounded = (position: number, size: number): number =>
  Math.min(size, Math.max(0, position < 0 ? position + size : position));

const slice: Operator = ({ has, input, ints, node, tf }) => {
  const x = input(0);
  if (has(4) && ints(4).some((step) => step !== 1)) throw new UnsupportedNode(node, "only steps of 1");
  const begin = x.shape.map(() => 0);
  const size = [...x.shape];
  const [starts, ends] = [ints(1), ints(2)];
  const axes = has(3) ? ints(3) : starts.map((_, axis) => axis);
  for (const [i, axis] of axes.entries()) {
    const at = positionOf(axis, x.rank);
    const dim = x.shape[at] ?? 0;
    const start = bounded(starts[i] ?? 0, dim);
    begin[at] = start;
    size[at] = Math.max(0, bounded(ends[i] ?? dim, dim) - start);
  }
  return tf.slice(x, begin, size);
};

const pad: Operator = ({ has, input, ints, tf }) => {
  const x = input(0);
  const amounts = ints(1);
  const axes = has(3) ? ints(3) : x.shape.map((_, axis) => axis);
  const paddings: [number, number][] = x.shape.map(() => [0, 0]);
  for (const [i, axis] of axes.entries())
    paddings[positionOf(axis, x.rank)] = [amounts[i] ?? 0, amounts[i + axes.length] ?? 0];
  return tf.pad(x, paddings, has(2) ? (input(2).dataSync()[0] ?? 0) : 0);
};

const reduction =
  (reduce: (tf: Tf, x: Tensor, axes: number[], keep: boolean) => Tensor): Operator =>
  ({ has, input, ints, node, tf }: Call) => {
    const x = input(0);
    const axes = has(1) ? ints(1).map((axis) => positionOf(axis, x.rank)) : x.shape.map((_, axis) => axis);
    return reduce(tf, x, axes, intOf(node, "keepdims", 1) === 1);
  };

const alongLast =
  (operate: (tf: Tf, x: Tensor) => Tensor): Operator =>
  ({ input, node, tf }) => {
    const x = input(0);
    if (positionOf(intOf(node, "axis", -1), x.rank) !== x.rank - 1)
      throw new UnsupportedNode(node, "only the last axis");
    return operate(tf, x);
  };

const range: Operator = ({ ints, node, tf }) => {
  const [start, limit, step] = [ints(0)[0], ints(1)[0], ints(2)[0]];
  if (start === undefined || limit === undefined || step === undefined)
    throw new UnsupportedNode(node, "its ends and its step must be scalars");
  return tf.range(start, limit, step, "int32");
};

const reshape: Operator = ({ input, ints, node, tf }) => {
  const [x, target] = [input(0), [...ints(1)]];
  if (elements(target) !== x.size) throw new UnsupportedNode(node, `[${x.shape}] does not fill [${target}]`);
  return tf.reshape(x, target);
};

export const layout: Readonly<Record<string, Operator>> = {
  Reshape: reshape,
  Transpose: ({ input, node, tf }) => tf.transpose(input(0), [...(intsOf(node, "perm") ?? [])]),
  Expand: ({ input, ints, tf }) => tf.broadcastTo(input(0), broadcastShape(input(0).shape, ints(1))),
  Slice: slice,
  Pad: pad,
  Concat: ({ input, node, tf }) =>
    tf.concat(
      node.inputs.map((_, i) => input(i)),
      positionOf(intOf(node, "axis", 0), input(0).rank),
    ),
  Range: range,
  ReduceSum: reduction((tf, x, axes, keep) => tf.sum(x, axes, keep)),
  ReduceMean: reduction((tf, x, axes, keep) => tf.mean(x, axes, keep)),
  ReduceMax: reduction((tf, x, axes, keep) => tf.max(x, axes, keep)),
  ReduceSumSquare: reduction((tf, x, axes, keep) => tf.sum(tf.square(x), axes, keep)),
  Softmax: alongLast((tf, x) => tf.softmax(x)),
  LogSoftmax: alongLast((tf, x) => tf.logSoftmax(x)),
};
