/** Non-negative safe integers as 32-bit words, the least significant first, and the bits they take. */

/** The words of a number, at least one. */
export const wordsOf = (value: number): readonly number[] => {
  const high = Math.floor(value / 4294967296);
  return high === 0 ? [value >>> 0] : [value >>> 0, high];
};

export const bitLength = (value: number): number => {
  const [low, high] = wordsOf(value);
  return high === undefined ? 32 - Math.clz32(low!) : 64 - Math.clz32(high);
};

/** The mask with all bits of `value`, a number below 2^32. */
export const maskOf = (value: number): number => (value === 0 ? 0 : 0xffffffff >>> Math.clz32(value));
