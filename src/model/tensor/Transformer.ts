/** RMS norm and rotary positions, whose gradients have a faster form than the chain rule over their steps. */
import { mul, sub } from "./Elementwise.ts";
import type { Graph, Tensor } from "./Graph.ts";
import { reshape } from "./Layout.ts";
import { gemm } from "./Linear.ts";
import { MICROSOFT } from "./Onnx.ts";
import { count, ShapeError } from "./Shape.ts";

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
      // With y = w s x and s the inverse root mean square: dw = sum over rows of g x s. dx = s w g - x s^3 mean(g x w). Both sums are
      // matrix-vector products.
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

interface RotaryValues {
  /** Names the positions, stride and frequencies that the values follow from. */
  readonly key: string;
  readonly cos: Float32Array;
  readonly sin: Float32Array;
  readonly minusSin: Float32Array;
}

/** The values of the last table: the graphs of a model have the same one, and computing it takes longer than the rest of a graph. */
let lastValues: RotaryValues | undefined;

const rotaryValues = (positions: number, frequencies: Float64Array, stride: number): RotaryValues => {
  const key = `${positions} ${stride} ${frequencies.join()}`;
  if (lastValues?.key === key) return lastValues;
  const half = frequencies.length;
  const angles = new Float64Array(positions * half);
  for (let index = 0; index < angles.length; index++) {
    angles[index] = stride * Math.floor(index / half) * frequencies[index % half]!;
  }
  const cos = new Float32Array(angles.length);
  const sin = new Float32Array(angles.length);
  const minusSin = new Float32Array(angles.length);
  for (let index = 0; index < angles.length; index++) {
    cos[index] = Math.cos(angles[index]!);
    sin[index] = Math.sin(angles[index]!);
    minusSin[index] = -sin[index]!;
  }
  lastValues = { key, cos, sin, minusSin };
  return lastValues;
};

/**
 * Constant tables of cos and sin of position * frequency, rounded from double precision, for the positions 0, stride, 2 stride, ...;
 * `frequencies` [headDim / 2] are radians a position.
 */
export const rotaryTables = (graph: Graph, positions: number, frequencies: Float64Array, stride = 1): RotaryTables => {
  const { cos, minusSin, sin } = rotaryValues(positions, frequencies, stride);
  const table = (values: Float32Array): Tensor => graph.constant(values, "float32", [positions, frequencies.length]);
  return { cos: table(cos), sin: table(sin), minusSin: table(minusSin) };
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
