/**
 * Reads rows and elements by index. Gradients add into the places read: by a product with a one-hot matrix in small tables, which a
 * GEMM does fastest, else by scattering.
 */
import { add, cast, equals, where } from "./Elementwise.ts";
import type { Graph, Tensor } from "./Graph.ts";
import { concat, expand, reshape } from "./Layout.ts";
import { gemm } from "./Linear.ts";
import type { DType } from "./Onnx.ts";
import { canonical, count, type Dim, equal, type Shape, ShapeError } from "./Shape.ts";

/** Rows above which an embedding's gradient is scattered. */
const ONE_HOT_ROWS = 1024;

/** 0, 1, ... size-1 */
export const iota = (graph: Graph, size: Dim, dtype: DType = "int64"): Tensor => {
  const dim = canonical(size);
  if (typeof dim === "number")
    return graph.constant(
      Array.from({ length: dim }, (_, i) => i),
      dtype,
    );
  const range = graph.result({
    type: "Range",
    inputs: [graph.constant(0, "int64"), reshape(graph.size(dim), []), graph.constant(1, "int64")],
    outputs: [{ dtype: "int64", shape: [dim] }],
  });
  return cast(range, dtype);
};

/** True where the index along a new last axis equals the element. */
export const oneHotMask = (indices: Tensor, size: Dim): Tensor =>
  equals(reshape(indices, [...indices.shape, 1]), iota(indices.graph, size, indices.dtype));

/** Rows of a [rows, width] table: the result is [...indices, width]. */
export const gather = (table: Tensor, indices: Tensor): Tensor => {
  const [rows, width] = table.shape;
  if (table.shape.length !== 2 || rows === undefined || width === undefined)
    throw new ShapeError("gather", [table.shape, indices.shape], "the table must be [rows, width]");
  return table.graph.result({
    type: "Gather",
    inputs: [table, indices],
    attributes: { axis: { int: 0 } },
    outputs: [{ dtype: table.dtype, shape: [...indices.shape, width] }],
    vjp: ([g]) => {
      if (g === undefined) return undefined;
      const total = count(indices.shape);
      const flat = reshape(indices, [total]);
      const gradient = reshape(g, [total, width]);
      if (typeof rows === "number" && rows <= ONE_HOT_ROWS)
        return [gemm(cast(oneHotMask(flat, rows), "float32"), gradient, { transA: true })];
      return [scatterInto(table.shape, { base: undefined, indices: flat, rows: gradient })];
    },
  });
};

/** The parts of a sum: a base (zeros if absent) and rows at indices, which may repeat. */
interface ScatteredRows {
  readonly base: Tensor | undefined;
  readonly indices: Tensor;
  readonly rows: Tensor;
}

const scatteredTensors = new WeakMap<Tensor, ScatteredRows>();

/** `base`, or zeros, of a table's shape with `rows[i]` added to row `indices[i]`. No gradient. */
export const scatterInto = (shape: Shape, parts: ScatteredRows): Tensor => {
  const { base, indices, rows } = parts;
  const sum = scatterRows(base ?? expand(rows.graph.constant(0, rows.dtype), shape), indices, rows);
  scatteredTensors.set(sum, parts);
  return sum;
};

/** The sum of two tensors of one shape, the second of which is scattered rows alone; undefined where it is not. One scattering does it. */
export const addScattered = (a: Tensor, b: Tensor): Tensor | undefined => {
  const [left, right] = [scatteredTensors.get(a), scatteredTensors.get(b)];
  if (right === undefined || right.base !== undefined) return undefined;
  if (left === undefined) return scatterInto(a.shape, { ...right, base: a });
  return scatterInto(a.shape, {
    base: left.base,
    indices: concat([left.indices, right.indices], 0),
    rows: concat([left.rows, right.rows], 0),
  });
};

/** `table` with `rows[i]` added to its row `indices[i]`; repeated indices add up. No gradient. */
const scatterRows = (table: Tensor, indices: Tensor, rows: Tensor): Tensor =>
  // ScatterElements rather than ScatterND: the latter adds from several threads at once.
  table.graph.result({
    type: "ScatterElements",
    inputs: [table, expand(reshape(indices, [...indices.shape, 1]), rows.shape), rows],
    attributes: { axis: { int: 0 }, reduction: { text: "add" } },
    outputs: [{ dtype: table.dtype, shape: table.shape }],
  });

/**
 * Sums of the elements of x [n] by segment, the index in 0..size-1 that `segments` int64 [n] gives each: [size], 0 of a segment without
 * elements.
 */
export const segmentSum = (x: Tensor, segments: Tensor, size: Dim): Tensor => {
  if (x.shape.length !== 1 || !equal(x.shape, segments.shape))
    throw new ShapeError("segmentSum", [x.shape, segments.shape], "both must be vectors of one size");
  const zeros = expand(x.graph.constant([0], x.dtype, [1, 1]), [size, 1]);
  const sums = reshape(scatterRows(zeros, segments, reshape(x, [...x.shape, 1])), [size]);
  return x.graph.aliasOf("segmentSum", [x], sums, ([g]) => [g && elementsAt(g, segments)]);
};

/** Elements of x [size] at indices int64 [n]: [n]. */
export const elementsAt = (x: Tensor, indices: Tensor): Tensor =>
  reshape(gather(reshape(x, [...x.shape, 1]), indices), indices.shape);

/** One element of every row along the last axis: x [..., size], indices [...] give [...]. */
export const takeAlong = (x: Tensor, indices: Tensor): Tensor => {
  const size = x.shape.at(-1);
  if (size === undefined || !equal(x.shape.slice(0, -1), indices.shape))
    throw new ShapeError("takeAlong", [x.shape, indices.shape], "indices must be x without its last axis");
  const columns = reshape(indices, [...indices.shape, 1]);
  const elements = x.graph.result({
    type: "GatherElements",
    inputs: [x, columns],
    attributes: { axis: { int: -1 } },
    outputs: [{ dtype: x.dtype, shape: columns.shape }],
    vjp: ([g]) => [g && where(oneHotMask(indices, size), g, 0)],
  });
  return reshape(elements, indices.shape);
};

/**
 * Coordinates (entry, head, position) of rows that enter a cache: those of entry `i` stand one after the other from `starts[i]`. Shapes: starts
 * int64 [batch], the result int64 [batch, heads, time, 3].
 */
export const cachePlaces = (starts: Tensor, heads: number, time: Dim): Tensor => {
  const { graph } = starts;
  const [batch] = starts.shape;
  if (starts.shape.length !== 1 || batch === undefined)
    throw new ShapeError("cachePlaces", [starts.shape], "starts must be a vector");
  const shape: Shape = [batch, heads, time, 1];
  const entries = expand(reshape(iota(graph, batch), [batch, 1, 1, 1]), shape);
  const eachHead = expand(reshape(iota(graph, heads), [1, heads, 1, 1]), shape);
  const positions = add(reshape(starts, [batch, 1, 1, 1]), reshape(iota(graph, time), [1, 1, time, 1]));
  return concat([entries, eachHead, expand(positions, shape)], 3);
};

/**
 * Writes `rows` over `x` at `places` (`cachePlaces`), each of which occurs once. No gradient passes. Shapes: x [batch, heads, capacity, width],
 * rows [batch, heads, time, width]; all rows must fit.
 */
export const writeRows = (x: Tensor, rows: Tensor, places: Tensor): Tensor => {
  if (
    x.shape.length !== 4 ||
    !equal(x.shape.with(2, 0), rows.shape.with(2, 0)) ||
    !equal(places.shape, rows.shape.with(3, 3))
  )
    throw new ShapeError("writeRows", [x.shape, rows.shape, places.shape], "rows must fit x but for their positions");
  // ScatterND copies rows; ScatterElements would write element by element.
  return x.graph.result({
    type: "ScatterND",
    inputs: [x, places, rows],
    outputs: [{ dtype: x.dtype, shape: x.shape }],
  });
};
