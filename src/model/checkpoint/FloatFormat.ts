/**
 * The number formats of model files: little-endian F32, F16 and BF16 against float32 arrays, a block at a time.
 * Invariant: decoding is exact; encoding rounds to nearest, ties to even, and keeps NaN a NaN; encode(decode(bits)) gives the bits
 * back for every pattern that is not a NaN.
 */

export const floatFormats = ["F32", "F16", "BF16"] as const;
export type FloatFormat = (typeof floatFormats)[number];

export const isFloatFormat = (name: unknown): name is FloatFormat => floatFormats.some((format) => format === name);

export const bytesPerValue: Readonly<Record<FloatFormat, number>> = { F32: 4, F16: 2, BF16: 2 };

/** The 16 bits of the bfloat16 nearest to the float32 with these bits. */
const bfloat16Bits = (bits: number): number => {
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40; // a NaN stays one when its low bits are cut
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
};

/** The 16 bits of the IEEE 754 half nearest to the float32 with these bits; beyond 65504 an infinity. */
const halfBits = (bits: number): number => {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | ((magnitude >>> 13) & 0x3ff);
  if (magnitude >= 0x47800000) return sign | 0x7c00;
  if (magnitude < 0x33000000) return sign; // below half of the smallest subnormal
  const exponent = magnitude >>> 23;
  if (exponent >= 113) {
    const rebased = magnitude - (112 << 23);
    return sign | ((rebased + 0xfff + ((rebased >>> 13) & 1)) >>> 13);
  }
  const shift = 126 - exponent;
  const mantissa = (magnitude & 0x7fffff) | 0x800000;
  const kept = mantissa >>> shift;
  const rest = mantissa & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return sign | (kept + (rest > half || (rest === half && (kept & 1) === 1) ? 1 : 0));
};

const halfValue = (bits: number): number => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
};

let halfTable: Float32Array | undefined;
/** Every half as a float32: decoding is a look-up. */
const halves = (): Float32Array => {
  halfTable ??= Float32Array.from({ length: 65536 }, (_, bits) => halfValue(bits));
  return halfTable;
};

/** `bytes` (whole values of `format`) into `values` from index `at` on. */
export const decodeInto = (format: FloatFormat, bytes: Uint8Array, values: Float32Array, at: number): void => {
  if (format === "F32") {
    new Uint8Array(values.buffer, values.byteOffset + at * 4, bytes.byteLength).set(bytes);
    return;
  }
  const aligned = bytes.byteOffset % 2 === 0 ? bytes : bytes.slice();
  const source = new Uint16Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 2);
  if (format === "BF16") {
    const target = new Uint32Array(values.buffer, values.byteOffset + at * 4, source.length);
    for (let i = 0; i < source.length; i++) target[i] = source[i]! << 16;
    return;
  }
  const table = halves();
  for (let i = 0; i < source.length; i++) values[at + i] = table[source[i]!]!;
};

/** The bytes of `values` in `format`. F16 turns finite values beyond 65504 into infinities: see `firstOverflow`. */
export const encode = (format: FloatFormat, values: Float32Array): Uint8Array => {
  if (format === "F32") return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const target = new Uint16Array(values.length);
  const convert = format === "BF16" ? bfloat16Bits : halfBits;
  for (let i = 0; i < bits.length; i++) target[i] = convert(bits[i]!);
  return new Uint8Array(target.buffer);
};

/** Index of the first finite value that `format` cannot hold as a finite one, or -1. */
export const firstOverflow = (format: FloatFormat, values: Float32Array): number => {
  // The smallest magnitudes that round up to an infinity.
  const limit = format === "F16" ? 65520 : (2 - 2 ** -8) * 2 ** 127;
  if (format === "F32") return -1;
  return values.findIndex((value) => Math.abs(value) >= limit && Number.isFinite(value));
};

/** `value` as `format` would keep it. */
export const round = (format: FloatFormat, value: number): number => {
  const kept = new Float32Array(1);
  decodeInto(format, encode(format, Float32Array.of(value)), kept, 0);
  return kept[0]!;
};
