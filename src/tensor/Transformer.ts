/**
 * The parts of a transformer block that have a faster form than the chain rule over their steps: RMS norm, rotary
 * positions, causal attention.
 */
import { add, lessOrEqual, mul, sub, where } from "./Elementwise.ts";
import { type Graph, MICROSOFT, type Tensor } from "./Graph.ts";
import { iota } from "./Indexing.ts";
import { reduceSum, reshape } from "./Layout.ts";
import { matmul } from "./Linear.ts";
import { softmax } from "./Reduction.ts";
import { type Dim, equal, product, ShapeError } from "./Shape.ts";

/** weight x / sqrt(mean(x^2) + epsilon) over the last axis (Zhang and Sennrich 2019). x [..., width], weight [width]. */
export const rmsNorm = (x: Tensor, weight: Tensor, epsilon: number): Tensor => {
  const width = x.shape.at(-1);
  if (typeof width !== "number" || weight.shape.length !== 1 || weight.shape[0] !== width)
    throw new ShapeError("rmsNorm", [x.shape, weight.shape], "the weight must have the size of the last axis");
  return x.graph.node({
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
      // y = w n with n = s x: dn = w g, dx = s (dn - n mean(dn n)), dw = sum over rows of g n
      const n = mul(x, scale);
      const gn = mul(g, n);
      const rows = x.shape.slice(0, -1).map((_, axis) => axis);
      const mean = mul(reduceSum(mul(gn, weight), [-1], true), 1 / width);
      return [mul(sub(mul(g, weight), mul(n, mean)), scale), reduceSum(gn, rows)];
    },
  })[0]!;
};

export interface RotaryTables {
  /** [positions, headDim / 2] */
  readonly cos: Tensor;
  /** [positions, headDim / 2] */
  readonly sin: Tensor;
  /** -sin, for the way back */
  readonly minusSin: Tensor;
}

/** Constant tables of cos and sin of position * theta^(-2i/headDim), rounded from double precision. */
export const rotaryTables = (graph: Graph, positions: number, headDim: number, theta: number): RotaryTables => {
  const half = headDim / 2;
  const angles = Float64Array.from(
    { length: positions * half },
    (_, index) => Math.floor(index / half) * theta ** (-(2 * (index % half)) / headDim),
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
  return x.graph.node({
    type: "RotaryEmbedding",
    domain: MICROSOFT,
    inputs: [x, positions, tables.cos, tables.sin],
    attributes: { interleaved: { int: 0 } },
    outputs: [{ dtype: x.dtype, shape: x.shape }],
    // a rotation's adjoint is the rotation back
    vjp: ([g]) => [g && rotary(g, positions, { cos: tables.cos, sin: tables.minusSin, minusSin: tables.sin })],
  })[0]!;
};

/** Added to a score to take it out of the softmax; finite, so that no row turns to NaN. */
const MASKED = -1e30;

/** [time, time]: 0 where the column is not after the row, else a number that the softmax turns to 0. */
const causalMask = (graph: Graph, time: Dim): Tensor => {
  const position = iota(graph, time);
  const visible = lessOrEqual(reshape(position, [1, time]), reshape(position, [time, 1]));
  return where(visible, graph.constant(0), graph.constant(MASKED));
};

/**
 * Causal attention with grouped queries. q [batch, kvHeads, groups, time, headDim], k and v [batch, kvHeads, time, headDim]
 * give [batch, kvHeads, groups, time, headDim]. The groups of a head are folded into its rows, so that both products are
 * plain stacks of matrices and the gradients of k and v need no sum over groups.
 */
export const causalAttention = (q: Tensor, k: Tensor, v: Tensor): Tensor => {
  const { graph } = q;
  const [batch, kvHeads, groups, time, headDim] = q.shape as [Dim, Dim, Dim, Dim, number];
  const keys = [batch, kvHeads, time, headDim];
  if (q.shape.length !== 5 || !equal(k.shape, keys) || !equal(v.shape, keys))
    throw new ShapeError(
      "causalAttention",
      [q.shape, k.shape, v.shape],
      "k and v must be q without its axis of groups",
    );
  const rows = product(groups, time);
  const fold = (x: Tensor, width: Dim): Tensor => reshape(x, [batch, kvHeads, rows, width]);
  const unfold = (x: Tensor, width: Dim): Tensor => reshape(x, [batch, kvHeads, groups, time, width]);
  const scale = 1 / Math.sqrt(headDim);
  const queries = fold(q, headDim);
  const scores = unfold(matmul(queries, k, { transB: true, scale }), time);
  const weights = fold(softmax(add(scores, causalMask(graph, time))), time);
  const mixed = matmul(weights, v);
  const result = unfold(mixed, headDim);
  return graph.alias("causalAttention", [q, k, v], [result], ([g]) => {
    if (g === undefined) return undefined;
    const dmixed = fold(g, headDim);
    // The softmax's row sums of (weights * dweights) equal those of (mixed * dmixed), which are far narrower
    // (Dao et al. 2022, section B.4).
    const correction = reduceSum(mul(dmixed, mixed), [-1], true);
    const dscores = mul(weights, sub(matmul(dmixed, v, { transB: true }), correction));
    return [
      unfold(matmul(dscores, k, { scale }), headDim),
      matmul(dscores, queries, { transA: true, scale }),
      matmul(weights, dmixed, { transA: true }),
    ];
  })[0]!;
};
