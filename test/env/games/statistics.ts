/** Sample statistics, and whether a sample agrees with a published mean that was itself measured on a sample. */

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Population standard deviation, numpy's default. */
export const deviation = (values: readonly number[]): number => {
  const centre = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)));
};

/** Distance of our mean from a reference mean of `referenceCount` draws, in standard errors of the difference. */
export const standardErrors = (values: readonly number[], reference: number, referenceCount: number): number =>
  Math.abs(mean(values) - reference) / (deviation(values) * Math.sqrt(1 / values.length + 1 / referenceCount));

/** Chi-square of two histograms over the same bins; degrees of freedom are the number of bins less one. */
export const chiSquare = (ours: readonly number[], theirs: readonly number[]): number => {
  const ourTotal = ours.reduce((a, b) => a + b, 0);
  const theirTotal = theirs.reduce((a, b) => a + b, 0);
  const ratio = Math.sqrt(theirTotal / ourTotal);
  return ours.reduce(
    (sum, count, bin) => sum + (count * ratio - theirs[bin]! / ratio) ** 2 / (count + theirs[bin]!),
    0,
  );
};
