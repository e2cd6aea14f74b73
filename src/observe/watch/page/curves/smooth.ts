/**
 * Exponential smoothing of a curve with gaps. Invariant: a constant stays the constant from its first value on, since the average is divided by
 * the weight it has gathered; gaps stay gaps and count for nothing.
 */

/** `factor` in [0, 1): 0 leaves the values as they are. */
export const smoothed = (values: readonly (number | null)[], factor: number): readonly (number | null)[] => {
  if (factor <= 0) return values;
  let sum = 0;
  let weight = 0;
  return values.map((value) => {
    if (value === null) return null;
    sum = factor * sum + (1 - factor) * value;
    weight = factor * weight + (1 - factor);
    return sum / weight;
  });
};

/** The last value that is there. */
export const lastOf = (values: readonly (number | null)[]): number | null =>
  values.findLast((value) => value !== null) ?? null;
