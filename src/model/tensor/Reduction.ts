/** Reductions over axes and the normalised exponentials built on them. */
import { cast, div, equals, exp, mul, square, sub } from "./Elementwise.ts";
import type { Tensor } from "./Graph.ts";
import { expand, reduceSum, reshape } from "./Layout.ts";
import { axisOf, count, type Shape, ShapeError, sizeOf } from "./Shape.ts";

const reduction = (
  type: string,
  x: Tensor,
  axes: readonly number[],
  keep: boolean,
  vjp: (g: Tensor, y: Tensor, over: Shape, kept: Shape) => Tensor,
): Tensor => {
  const over = [...new Set(axes.map((axis) => axisOf(type, x.shape, axis)))].sort((a, b) => a - b);
  if (over.length === 0) return x;
  const kept = x.shape.map((dim, axis) => (over.includes(axis) ? 1 : dim));
  return x.graph.result({
    type,
    inputs: [x, x.graph.constant(over, "int64")],
    attributes: { keepdims: { int: keep ? 1 : 0 } },
    outputs: [{ dtype: x.dtype, shape: keep ? kept : x.shape.filter((_, axis) => !over.includes(axis)) }],
    vjp: ([g], [y]) => [
      g &&
        y &&
        vjp(
          reshape(g, kept),
          reshape(y, kept),
          over.map((axis) => sizeOf(x.shape, axis)),
          kept,
        ),
    ],
  });
};

const everyAxis = (x: Tensor): readonly number[] => x.shape.map((_, axis) => axis);

/** Mean over axes (all by default); `keep` leaves them with size 1. */
export const reduceMean = (x: Tensor, axes: readonly number[] = everyAxis(x), keep = false): Tensor =>
  reduction("ReduceMean", x, axes, keep, (g, _, over) => {
    const size = count(over);
    const divisor = typeof size === "number" ? size : reshape(cast(x.graph.size(size), x.dtype), []);
    return expand(div(g, divisor), x.shape);
  });

/** Sum of squares over axes (all by default); `keep` leaves them with size 1. */
export const reduceSumSquare = (x: Tensor, axes: readonly number[] = everyAxis(x), keep = false): Tensor =>
  axes.length === 0 ? square(x) : reduction("ReduceSumSquare", x, axes, keep, (g) => mul(mul(x, 2), g));

/** Maximum over axes (all by default); the gradient is shared by the elements that attain it. */
export const reduceMax = (x: Tensor, axes: readonly number[] = everyAxis(x), keep = false): Tensor =>
  reduction("ReduceMax", x, axes, keep, (g, y) => {
    const attained = cast(equals(x, y), x.dtype);
    const ties = reduceSum(attained, axes, true);
    return mul(attained, div(g, ties));
  });

const alongLast = (type: string, x: Tensor, vjp: (g: Tensor, y: Tensor) => Tensor): Tensor => {
  if (x.shape.length === 0) throw new ShapeError(type, [x.shape], "a scalar has no last axis");
  return x.graph.result({
    type,
    inputs: [x],
    attributes: { axis: { int: -1 } },
    outputs: [{ dtype: x.dtype, shape: x.shape }],
    vjp: ([g], [y]) => [g && y && vjp(g, y)],
  });
};

/** exp(x) normalised to sum 1 over the last axis. */
export const softmax = (x: Tensor): Tensor =>
  alongLast("Softmax", x, (g, y) => mul(y, sub(g, reduceSum(mul(g, y), [-1], true))));

/** x - log sum exp(x) over the last axis. */
export const logSoftmax = (x: Tensor): Tensor =>
  alongLast("LogSoftmax", x, (g, y) => sub(g, mul(exp(y), reduceSum(g, [-1], true))));
