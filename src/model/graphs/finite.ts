/**
 * The search for numbers that no computation goes on from: NaN and the infinities. One pass over the bits, without a branch that is taken,
 * so that a whole model is searched in less time than it is read from a disk.
 */

/** All ones in the exponents of NaN and the infinities, and of nothing else. */
const EXPONENT = 0x7f800000;

/** Index of the first value that is not finite, or -1. */
export const firstNotFinite = (values: Float32Array): number => {
  const bits = new Int32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < bits.length; i++) if ((bits[i]! & EXPONENT) === EXPONENT) return i;
  return -1;
};

export const allFinite = (values: Float32Array): boolean => firstNotFinite(values) === -1;
