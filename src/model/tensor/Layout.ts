/**
 * Linear maps that move, repeat or add up elements: reshape, transpose, expand and sum, slice and pad, concat.
 * They come in adjoint pairs (the gradient of one is another), which is why they live in one file.
 */
import type { Tensor } from "./Graph.ts";
import {
  axisOf,
  broadcast,
  canonical,
  count,
  type Dim,
  difference,
  equal,
  quotient,
  type Shape,
  ShapeError,
  sizeOf,
  sum,
} from "./Shape.ts";

/** Same elements in the same order under another shape. One size may be -1: it is computed from the others. */
export const reshape = (x: Tensor, target: Shape): Tensor => {
  const open = target.indexOf(-1);
  const givenSizes = target.filter((dim) => dim !== -1);
  const rest = open < 0 ? -1 : quotient(count(x.shape), count(givenSizes));
  if (rest === undefined) throw new ShapeError("reshape", [x.shape, target], "the size -1 does not come out");
  const shape = target.map((dim) => (dim === -1 ? rest : canonical(dim)));
  if (count(shape) !== count(x.shape)) throw new ShapeError("reshape", [x.shape, shape], "element counts differ");
  if (equal(shape, x.shape)) return x;
  const { type, inputs } = x.graph.producer(x);
  // two in a row are one
  if (type === "Reshape" && inputs[0] !== undefined) return reshape(inputs[0], shape);
  return x.graph.result({
    type: "Reshape",
    inputs: [x, x.graph.sizes(shape)],
    attributes: { allowzero: { int: 1 } },
    outputs: [{ dtype: x.dtype, shape }],
    vjp: ([g]) => [g && reshape(g, x.shape)],
  });
};

/** Axis i of the result is axis `order[i]` of x. */
export const transpose = (x: Tensor, order: readonly number[]): Tensor => {
  const axes = order.map((axis) => axisOf("transpose", x.shape, axis));
  if (axes.length !== x.shape.length || new Set(axes).size !== axes.length)
    throw new ShapeError("transpose", [x.shape], `[${order.join(", ")}] is not an order of its axes`);
  if (axes.every((axis, position) => axis === position)) return x;
  const { type, inputs, emission } = x.graph.producer(x);
  if (type === "Transpose" && inputs[0] !== undefined && emission.kind === "node") {
    // two in a row are one
    const { perm } = emission.attributes;
    if (perm !== undefined && "ints" in perm)
      return transpose(
        inputs[0],
        axes.map((axis) => perm.ints[axis]!),
      );
  }
  return x.graph.result({
    type: "Transpose",
    inputs: [x],
    attributes: { perm: { ints: axes } },
    outputs: [{ dtype: x.dtype, shape: axes.map((axis) => sizeOf(x.shape, axis)) }],
    vjp: ([g]) => [
      g &&
        transpose(
          g,
          axes.map((_, axis) => axes.indexOf(axis)),
        ),
    ],
  });
};

/** Repeats x over axes of size 1 and over new leading axes. */
export const expand = (x: Tensor, target: Shape): Tensor => {
  const shape = broadcast("expand", [x.shape, target.map(canonical)]);
  if (equal(shape, x.shape)) return x;
  return x.graph.result({
    type: "Expand",
    inputs: [x, x.graph.sizes(shape)],
    outputs: [{ dtype: x.dtype, shape }],
    vjp: ([g]) => [g && sumTo(g, x.shape)],
  });
};

/** Sum over axes (all by default); `keep` leaves them with size 1. */
export const reduceSum = (
  x: Tensor,
  axes: readonly number[] = x.shape.map((_, axis) => axis),
  keep = false,
): Tensor => {
  const over = [...new Set(axes.map((axis) => axisOf("reduceSum", x.shape, axis)))].sort((a, b) => a - b);
  if (over.length === 0) return x;
  const kept = x.shape.map((dim, axis) => (over.includes(axis) ? 1 : dim));
  return x.graph.result({
    type: "ReduceSum",
    inputs: [x, x.graph.constant(over, "int64")],
    attributes: { keepdims: { int: keep ? 1 : 0 } },
    outputs: [{ dtype: x.dtype, shape: keep ? kept : x.shape.filter((_, axis) => !over.includes(axis)) }],
    vjp: ([g]) => [g && expand(reshape(g, kept), x.shape)],
  });
};

/** The adjoint of broadcasting: adds x up until it has the shape `target`. */
export const sumTo = (x: Tensor, target: Shape): Tensor => {
  const lead = x.shape.length - target.length;
  const axes = x.shape.flatMap((dim, axis) => (axis < lead || (target[axis - lead] === 1 && dim !== 1) ? [axis] : []));
  return axes.length === 0 ? x : reshape(reduceSum(x, axes, true), target);
};

/** Elements start..end (exclusive) of one axis; sizes may be symbolic ("time-1"). */
export const slice = (x: Tensor, axis: number, start: Dim, end: Dim): Tensor => {
  const at = axisOf("slice", x.shape, axis);
  const size = sizeOf(x.shape, at);
  const length = difference(end, start);
  if (typeof length === "number" && length < 0) throw new ShapeError("slice", [x.shape], `${start}..${end} is empty`);
  if (start === 0 && canonical(end) === size) return x;
  const { graph } = x;
  return graph.result({
    type: "Slice",
    inputs: [x, graph.size(canonical(start)), graph.size(canonical(end)), graph.constant([at], "int64")],
    outputs: [{ dtype: x.dtype, shape: x.shape.with(at, length) }],
    vjp: ([g]) => [g && pad(g, at, start, difference(size, end))],
  });
};

/** Zeros before and after along one axis. */
export const pad = (x: Tensor, axis: number, before: Dim, after: Dim): Tensor => {
  const at = axisOf("pad", x.shape, axis);
  const size = sizeOf(x.shape, at);
  if (canonical(before) === 0 && canonical(after) === 0) return x;
  const { graph } = x;
  return graph.result({
    type: "Pad",
    inputs: [
      x,
      graph.sizes([canonical(before), canonical(after)]),
      graph.constant(0, x.dtype),
      graph.constant([at], "int64"),
    ],
    outputs: [{ dtype: x.dtype, shape: x.shape.with(at, sum(before, size, after)) }],
    vjp: ([g]) => [g && slice(g, at, before, sum(before, size))],
  });
};

/** Tensors one after another along an axis. */
export const concat = (tensors: readonly Tensor[], axis: number): Tensor => {
  const first = tensors[0];
  if (first === undefined) throw new ShapeError("concat", [], "nothing to join");
  const at = axisOf("concat", first.shape, axis);
  const shapes = tensors.map(({ shape }) => shape);
  const size = sum(...shapes.map((shape) => shape[at] ?? 0));
  for (const shape of shapes)
    if (shape.length !== first.shape.length || !equal(shape.with(at, size), first.shape.with(at, size)))
      throw new ShapeError("concat", shapes, `sizes differ off axis ${at}`);
  if (tensors.length === 1) return first;
  return first.graph.result({
    type: "Concat",
    inputs: tensors,
    attributes: { axis: { int: at } },
    outputs: [{ dtype: first.dtype, shape: first.shape.with(at, size) }],
    vjp: ([g]) => {
      if (g === undefined) return [];
      let start: Dim = 0;
      return tensors.map(({ shape }) => {
        const end = sum(start, shape[at]!);
        const part = slice(g, at, start, end);
        start = end;
        return part;
      });
    },
  });
};
