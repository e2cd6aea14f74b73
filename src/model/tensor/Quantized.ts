/**
 * Linear layers with 8-bit weights: signed codes with a scale per output. Rows keep about 16 bits, as a high and a low byte in one
 * product.
 * Sums are exact integers, so a row depends neither on other rows nor on the division of work. Forward only.
 */
import { abs, add, cast, div, maximum, mul, sub } from "./Elementwise.ts";
import type { Tensor } from "./Graph.ts";
import { concat, slice } from "./Layout.ts";
import { MICROSOFT } from "./Onnx.ts";
import { reduceMax } from "./Reduction.ts";
import { product, ShapeError } from "./Shape.ts";

/** Codes of weights and high bytes are -LARGEST to LARGEST. */
const LARGEST = 127;
/** Zero point of the bytes of a row, which are unsigned. */
const ZERO = 128;
/** Low bytes to one step of the high byte. */
const STEPS = 254;
/** The least scale: a row of zeros stays one. */
const TINY = 1e-30;

/** A matrix [out, in] in 8 bits: element [o, i] is codes[i, o] scales[o]. */
export interface QuantizedMatrix {
  /** int8 [in, out] */
  readonly codes: Tensor;
  /** float32 [out] */
  readonly scales: Tensor;
}

const round = (x: Tensor): Tensor =>
  x.graph.result({ type: "Round", inputs: [x], outputs: [{ dtype: x.dtype, shape: x.shape }] });

/** Rows as a high and a low byte, uint8 [2 * rows, in], and the scale of each row's high bytes, float32 [rows, 1]. */
const toBytes = (x: Tensor): { readonly bytes: Tensor; readonly rowScales: Tensor } => {
  const rowScales = div(maximum(reduceMax(abs(x), [-1], true), TINY), LARGEST);
  const steps = div(x, rowScales);
  const high = round(steps);
  const low = mul(sub(steps, high), STEPS);
  // The cast cuts fractions off, so that adding a half rounds.
  return { bytes: cast(add(concat([high, low], 0), ZERO + 0.5), "uint8"), rowScales };
};

/** x [rows, in] times the matrix, transposed: float32 [rows, out]. Raises ShapeError where sizes do not fit each other. */
export const quantizedProduct = (x: Tensor, { codes, scales }: QuantizedMatrix): Tensor => {
  const [rows, width] = x.shape;
  const [inner, out] = codes.shape;
  if (x.shape.length !== 2 || rows === undefined || width !== inner || out === undefined || scales.shape[0] !== out)
    throw new ShapeError("quantizedProduct", [x.shape, codes.shape, scales.shape], "sizes do not fit each other");
  const { bytes, rowScales } = toBytes(x);
  const both = product(2, rows);
  const sums = x.graph.result({
    type: "MatMulIntegerToFloat",
    domain: MICROSOFT,
    inputs: [bytes, codes, x.graph.constant(1), scales, x.graph.constant(ZERO, "uint8")],
    outputs: [{ dtype: "float32", shape: [both, out] }],
  });
  return mul(add(slice(sums, 0, 0, rows), mul(slice(sums, 0, rows, both), 1 / STEPS)), rowScales);
};

/** Codes [in, out] and scales [out] of a matrix in ordinary memory. */
export interface QuantizedValues {
  readonly codes: Int8Array<ArrayBufferLike>;
  readonly scales: Float32Array<ArrayBufferLike>;
}

/** Outputs that are processed together: their codes are adjacent, so whole lines of memory are written. */
const OUTPUT_BLOCK = 64;

/** Doubles as large as this have whole numbers only: adding it rounds, half to even. */
const WHOLE = 1.5 * 2 ** 52;

/** The largest of some numbers without their signs. */
const largestOf = (values: Float32Array<ArrayBufferLike>): number => {
  let top = TINY;
  for (let i = 0; i < values.length; i += 1) {
    const size = Math.abs(values[i]!);
    if (size > top) top = size;
  }
  return top;
};

/** Rounds a matrix [out, in] to codes, each output by its largest number, and writes them. */
export const quantize = (
  values: Float32Array<ArrayBufferLike>,
  [out, width]: readonly [out: number, width: number],
  { codes, scales }: QuantizedValues,
): void => {
  const inverse = new Float64Array(out);
  for (let o = 0; o < out; o += 1) {
    const top = largestOf(values.subarray(o * width, (o + 1) * width));
    scales[o] = top / LARGEST;
    inverse[o] = LARGEST / top;
  }
  for (let from = 0; from < out; from += OUTPUT_BLOCK) {
    const to = Math.min(out, from + OUTPUT_BLOCK);
    for (let i = 0; i < width; i += 1)
      for (let o = from; o < to; o += 1) codes[i * out + o] = values[o * width + i]! * inverse[o]! + WHOLE - WHOLE;
  }
};
