/**
 * Linear layers with 8-bit weights, in blocks of 32 codes along each output with a scale each (llama.cpp's q8_0). Rows are rounded to 8 bits in
 * the same blocks.
 * Sums within a block are exact integers, and blocks are added in order: a row depends neither on other rows nor on the division of work.
 * Forward only.
 */
import type { Tensor } from "./Graph.ts";
import { MICROSOFT } from "./Onnx.ts";
import { ShapeError } from "./Shape.ts";

/** Codes to a scale. */
export const BLOCK = 32;
/** Codes are ZERO - LARGEST to ZERO + LARGEST. */
const LARGEST = 127;
const ZERO = 128;
/** Computes with rows in 8 bits. */
const INT8_ROWS = 4;
/** The least scale: a block of zeros stays one. */
const TINY = 1e-30;

/** Blocks of an output of a width; the last one is padded with zeros. */
export const blocksOf = (width: number): number => Math.ceil(width / BLOCK);

/** A matrix [out, in] in 8 bits: element [o, i] is (codes[o, b, i - 32 b] - 128) scales[o, b], with b = floor(i / 32). */
export interface QuantizedMatrix {
  /** uint8 [out, blocks, 32], constants of the session: the runtime computes inputs another way. */
  readonly codes: Tensor;
  /** float32 [out * blocks] */
  readonly scales: Tensor;
}

/** x [rows, in] times the matrix, transposed: float32 [rows, out]. Raises ShapeError where sizes do not fit each other. */
export const quantizedProduct = (x: Tensor, { codes, scales }: QuantizedMatrix): Tensor => {
  const [rows, width] = x.shape;
  const [out, blocks] = codes.shape;
  if (
    x.shape.length !== 2 ||
    rows === undefined ||
    typeof width !== "number" ||
    typeof out !== "number" ||
    blocks !== blocksOf(width) ||
    scales.shape[0] !== out * blocks
  )
    throw new ShapeError("quantizedProduct", [x.shape, codes.shape, scales.shape], "sizes do not fit each other");
  return x.graph.result({
    type: "MatMulNBits",
    domain: MICROSOFT,
    inputs: [x, codes, scales],
    attributes: {
      K: { int: width },
      N: { int: out },
      bits: { int: 8 },
      block_size: { int: BLOCK },
      accuracy_level: { int: INT8_ROWS },
    },
    outputs: [{ dtype: "float32", shape: [rows, out] }],
  });
};

/** Codes [out, blocks, 32] and scales [out, blocks] of a matrix in ordinary memory. */
export interface QuantizedValues {
  readonly codes: Uint8Array<ArrayBufferLike>;
  readonly scales: Float32Array<ArrayBufferLike>;
}

/** Doubles as large as this have whole numbers only: adding it rounds, half to even. */
const WHOLE = 1.5 * 2 ** 52;

/** Rounds a matrix [out, in] to codes, each block by its largest number, and writes them. */
export const quantize = (
  values: Float32Array<ArrayBufferLike>,
  [out, width]: readonly [out: number, width: number],
  { codes, scales }: QuantizedValues,
): void => {
  const blocks = blocksOf(width);
  codes.fill(ZERO);
  for (let block = 0; block < out * blocks; block += 1) {
    const column = (block % blocks) * BLOCK;
    const from = Math.floor(block / blocks) * width + column;
    const count = Math.min(BLOCK, width - column);
    let top = TINY;
    for (let i = from; i < from + count; i += 1) {
      const size = Math.abs(values[i]!);
      if (size > top) top = size;
    }
    scales[block] = top / LARGEST;
    const inverse = LARGEST / top;
    const to = block * BLOCK;
    for (let i = 0; i < count; i += 1) codes[to + i] = values[from + i]! * inverse + WHOLE - WHOLE + ZERO;
  }
};
