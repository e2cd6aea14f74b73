/** Sample statistics, in float64 and in the order given, so that equal data give equal bits. Empty data have statistics of 0. */

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

export const mean = (values: readonly number[]): number => (values.length === 0 ? 0 : sum(values) / values.length);

/** Unbiased standard deviation; 0 for fewer than two values. */
export const standardDeviation = (values: readonly number[]): number => {
  if (values.length < 2) return 0;
  const centre = mean(values);
  const squares = values.reduce((total, value) => total + (value - centre) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1));
};

export const maximum = (values: readonly number[]): number =>
  values.reduce((largest, value) => Math.max(largest, value), values.length === 0 ? 0 : Number.NEGATIVE_INFINITY);
