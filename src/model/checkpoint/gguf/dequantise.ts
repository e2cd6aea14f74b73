/**
 * The tensor types of GGUF that are read, each as bytes to float32. Blocks hold 32 values, as ggml's quantisations define them. Invariant: the
 * arithmetic is float32 throughout, so that values equal those of llama.cpp's own Python package bit for bit.
 */
import { decodeInto } from "../FloatFormat.ts";

const blockValues = 32;

/** Values of one tensor out of its bytes, written into `values`. */
type Decode = (bytes: Uint8Array, values: Float32Array) => void;

export interface TensorType {
  readonly name: string;
  /** Values that are stored together. */
  readonly blockValues: number;
  readonly blockBytes: number;
  readonly decode: Decode;
}

/** The half-precision numbers at the start of a block. */
const halvesAt = (bytes: Uint8Array, at: number, target: Float32Array): void =>
  decodeInto("F16", bytes.subarray(at, at + 2 * target.length), target, 0);

/** A block is a scale and 32 signed bytes. */
const q8_0: Decode = (bytes, values) => {
  const scale = new Float32Array(1);
  for (let at = 0, first = 0; first < values.length; at += 34, first += blockValues) {
    halvesAt(bytes, at, scale);
    for (let i = 0; i < blockValues; i++) values[first + i] = scale[0]! * ((bytes[at + 2 + i]! << 24) >> 24);
  }
};

/** A block is a scale, a minimum and 32 nibbles: the low ones of its 16 bytes are the first 16 values. */
const q4_1: Decode = (bytes, values) => {
  const constants = new Float32Array(2);
  for (let at = 0, first = 0; first < values.length; at += 20, first += blockValues) {
    halvesAt(bytes, at, constants);
    const [scale = 0, minimum = 0] = constants;
    for (let i = 0; i < 16; i++) {
      const byte = bytes[at + 4 + i]!;
      values[first + i] = Math.fround(scale * (byte & 15)) + minimum;
      values[first + 16 + i] = Math.fround(scale * (byte >> 4)) + minimum;
    }
  }
};

/** By ggml's number of the type. */
const tensorTypes: ReadonlyMap<number, TensorType> = new Map([
  [0, { name: "F32", blockValues: 1, blockBytes: 4, decode: (bytes, values) => decodeInto("F32", bytes, values, 0) }],
  [1, { name: "F16", blockValues: 1, blockBytes: 2, decode: (bytes, values) => decodeInto("F16", bytes, values, 0) }],
  [3, { name: "Q4_1", blockValues, blockBytes: 20, decode: q4_1 }],
  [8, { name: "Q8_0", blockValues, blockBytes: 34, decode: q8_0 }],
]);

export const tensorType = (id: number): TensorType | undefined => tensorTypes.get(id);

export const typeNames: readonly string[] = [...tensorTypes.values()].map(({ name }) => name);
