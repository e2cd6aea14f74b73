/** Finds NaN and infinities in one pass over the bits, faster than a model is read from disk. */

/** All ones in the exponents of NaN and the infinities, and of nothing else. */
const EXPONENT = 0x7f800000;

/** Index of the first value that is not finite, or -1. */
export const firstNotFinite = (values: Float32Array): number => {
  const bits = new Int32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < bits.length; i++) if ((bits[i]! & EXPONENT) === EXPONENT) return i;
  return -1;
};

export const allFinite = (values: Float32Array): boolean => firstNotFinite(values) === -1;
