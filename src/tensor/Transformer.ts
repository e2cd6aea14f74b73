/**
 * The parts of a transformer block that have a faster form than the chain rule over their steps: RMS norm, rotary
 * positions, causal attention.
 */
import { add, div, lessOrEqual, mul, sub, where } from "./Elementwise.ts";
import type { Graph, Tensor } from "./Graph.ts";
import { iota } from "./Indexing.ts";
import { concat, pad, reduceSum, reshape, slice, transpose } from "./Layout.ts";
import { gemm, matmul } from "./Linear.ts";
import { MICROSOFT } from "./Onnx.ts";
import { softmax } from "./Reduction.ts";
import { count, type Dim, difference, equal, product, ShapeError } from "./Shape.ts";

/** weight x / sqrt(mean(x^2) + epsilon) over the last axis (Zhang and Sennrich 2019). x [..., width], weight [width]. */
export const rmsNorm = (x: Tensor, weight: Tensor, epsilon: number): Tensor => {
  const width = x.shape.at(-1);
  if (typeof width !== "number" || weight.shape.length !== 1 || weight.shape[0] !== width)
    throw new ShapeError("rmsNorm", [x.shape, weight.shape], "the weight must have the size of the last axis");
  return x.graph.result({
    type: "SimplifiedLayerNormalization",
    inputs: [x, weight],
    attributes: { axis: { int: -1 }, epsilon: { float: epsilon }, stash_type: { int: 1 } },
    // the second output is 1 / sqrt(mean(x^2) + epsilon)
    outputs: [
      { dtype: x.dtype, shape: x.shape },
      { dtype: "float32", shape: x.shape.with(-1, 1) },
    ],
    vjp: ([g], [, scale]) => {
      if (g === undefined || scale === undefined) return [];
      // y = w s x, s the inverse root mean square: dw = sum over rows of g x s,
      // dx = s w g - x s^3 mean(g x w); both sums are matrix-vector products
      const rows = count(x.shape.slice(0, -1));
      const gx = reshape(mul(g, x), [rows, width]);
      const inverse = reshape(scale, [rows, 1]);
      const along = reshape(gemm(gx, reshape(weight, [width, 1])), scale.shape);
      const pull = mul(mul(along, 1 / width), mul(scale, mul(scale, scale)));
      return [sub(mul(mul(g, weight), scale), mul(x, pull)), reshape(gemm(inverse, gx, { transA: true }), [width])];
    },
  });
};

export interface RotaryTables {
  /** [positions, headDim / 2] */
  readonly cos: Tensor;
  /** [positions, headDim / 2] */
  readonly sin: Tensor;
  /** -sin, for the way back */
  readonly minusSin: Tensor;
}

/**
 * Constant tables of cos and sin of position * frequency, rounded from double precision, for the positions 0, stride, 2 stride, ...;
 * `frequencies` [headDim / 2] are radians a position.
 */
export const rotaryTables = (graph: Graph, positions: number, frequencies: Float64Array, stride = 1): RotaryTables => {
  const half = frequencies.length;
  const angles = Float64Array.from(
    { length: positions * half },
    (_, index) => stride * Math.floor(index / half) * frequencies[index % half]!,
  );
  const table = (value: (angle: number) => number): Tensor =>
    graph.constant(Float32Array.from(angles, value), "float32", [positions, half]);
  return { cos: table(Math.cos), sin: table(Math.sin), minusSin: table((angle) => -Math.sin(angle)) };
};

/**
 * Rotary positions (Su et al. 2021) in the halves convention. x is [batch, time, heads * headDim]; `positions` int64 is
 * [batch, time], or [1] for the position of the first column of every row.
 */
export const rotary = (x: Tensor, positions: Tensor, tables: RotaryTables): Tensor => {
  if (x.shape.length !== 3) throw new ShapeError("rotary", [x.shape], "x must be [batch, time, heads * headDim]");
  return x.graph.result({
    type: "RotaryEmbedding",
    domain: MICROSOFT,
    inputs: [x, positions, tables.cos, tables.sin],
    attributes: { interleaved: { int: 0 } },
    outputs: [{ dtype: x.dtype, shape: x.shape }],
    // a rotation's adjoint is the rotation back
    vjp: ([g]) => [g && rotary(g, positions, { cos: tables.cos, sin: tables.minusSin, minusSin: tables.sin })],
  });
};

/** Added to a score to take it out of the softmax; finite, so that no row turns to NaN. */
const MASKED = -1e30;

/** [rows, columns] for the rows that start at `start`: 0 up to the diagonal, else a number the softmax turns to 0. */
const causalMask = (graph: Graph, start: Dim, end: Dim): Tensor => {
  const position = iota(graph, end);
  const rows = slice(position, 0, start, end);
  const visible = lessOrEqual(reshape(position, [1, end]), reshape(rows, [difference(end, start), 1]));
  return where(visible, graph.constant(0), graph.constant(MASKED));
};

/** The ends of `count` about equal blocks of a size, as sizes; symbols are bound for those that a polynomial cannot say. */
export const blockEnds = (graph: Graph, size: Dim, blocks: number): readonly Dim[] =>
  Array.from({ length: blocks }, (_, index) => {
    const part = index + 1;
    if (part === blocks) return size;
    if (typeof size === "number") return Math.floor((size * part) / blocks);
    const symbol = `${String(size).replace(/\W/g, "_")}_${part}of${blocks}`;
    graph.bind(symbol, div(mul(graph.size(size), part), blocks));
    return symbol;
  });

/**
 * Causal attention with grouped queries. q [batch, kvHeads, groups, time, headDim], k and v [batch, kvHeads, time, headDim]
 * give [batch, kvHeads, groups, time, headDim].
 *
 * The groups of a head are folded into its rows, so that both products are plain stacks of matrices and the gradients of
 * k and v need no sum over groups. The rows are taken in `blocks`, each against the columns up to its end only, which
 * leaves out nearly half of the masked products; a time below `blocks` is allowed.
 */
export const causalAttention = (q: Tensor, k: Tensor, v: Tensor, blocks = 1): Tensor => {
  const { graph } = q;
  const [batch, kvHeads, groups, time, headDim] = q.shape as [Dim, Dim, Dim, Dim, number];
  const columns = [batch, kvHeads, time, headDim];
  if (q.shape.length !== 5 || !equal(k.shape, columns) || !equal(v.shape, columns))
    throw new ShapeError(
      "causalAttention",
      [q.shape, k.shape, v.shape],
      "k and v must be q without its axis of groups",
    );
  const scale = 1 / Math.sqrt(headDim);
  const parts = blockEnds(graph, time, blocks).map((end, index, ends) => {
    const start = ends[index - 1] ?? 0;
    const length = difference(end, start);
    const fold = (x: Tensor, width: Dim): Tensor => reshape(x, [batch, kvHeads, product(groups, length), width]);
    const unfold = (x: Tensor, width: Dim): Tensor => reshape(x, [batch, kvHeads, groups, length, width]);
    const queries = fold(slice(q, 3, start, end), headDim);
    const keys = slice(k, 2, 0, end);
    const values = slice(v, 2, 0, end);
    const scores = unfold(matmul(queries, keys, { transB: true, scale }), end);
    const weights = fold(softmax(add(scores, causalMask(graph, start, end))), end);
    return { start, end, fold, unfold, queries, keys, values, weights, mixed: matmul(weights, values) };
  });
  const result = concat(
    parts.map(({ mixed, unfold }) => unfold(mixed, headDim)),
    3,
  );
  return graph.aliasOf("causalAttention", [q, k, v], result, ([g]) => {
    if (g === undefined) return undefined;
    const inputs = parts.map(({ start, end, fold, unfold, queries, keys, values, weights, mixed }) => {
      const dmixed = fold(slice(g, 3, start, end), headDim);
      // The softmax's row sums of (weights * dweights) equal those of (mixed * dmixed), which are far narrower
      // (Dao et al. 2022, appendix B.2).
      const correction = reduceSum(mul(dmixed, mixed), [-1], true);
      const dscores = mul(weights, sub(matmul(dmixed, values, { transB: true }), correction));
      // A transposed operand is copied in strips: let that be the narrow one.
      const acrossRows = (narrow: Tensor, wide: Tensor, factor: number): Tensor =>
        pad(matmul(narrow, wide, { transA: true, scale: factor }), 3, 0, difference(time, end));
      return {
        q: unfold(matmul(dscores, keys, { scale }), headDim),
        k: acrossRows(queries, dscores, scale),
        v: acrossRows(dmixed, weights, 1),
      };
    });
    const total = (terms: readonly Tensor[]): Tensor =>
      transpose(
        terms.reduce((a, b) => add(a, b)),
        [0, 1, 3, 2],
      );
    return [
      concat(
        inputs.map((input) => input.q),
        3,
      ),
      total(inputs.map((input) => input.k)),
      total(inputs.map((input) => input.v)),
    ];
  });
};
