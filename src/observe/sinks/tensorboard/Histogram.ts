/**
 * A distribution of values as buckets. Invariant: the buckets contain every value once, so that their counts sum to `count`.
 * Pure.
 */

/** A value with its number of occurrences. */
export type Weighted = readonly [value: number, count: number];

export interface Histogram {
  readonly min: number;
  readonly max: number;
  readonly count: number;
  readonly sum: number;
  readonly sumOfSquares: number;
  /** Upper ends of the buckets, ascending; each bucket begins at the end of the one before. */
  readonly limits: readonly number[];
  readonly counts: readonly number[];
}

const BUCKETS = 30;

/** Upper ends: around each integer if the values are few integers, else of equal width. */
const limitsOf = (min: number, max: number, whole: boolean): readonly number[] => {
  if (whole && max - min < BUCKETS) return Array.from({ length: max - min + 1 }, (_, i) => min + i + 0.5);
  if (min === max) return [max];
  const width = (max - min) / BUCKETS;
  const ends = Array.from({ length: BUCKETS }, (_, i) => (i === BUCKETS - 1 ? max : min + (i + 1) * width));
  // Between neighbouring floats there are fewer buckets.
  return ends.filter((end, i) => i === 0 || end > ends[i - 1]!);
};

/** The first bucket whose upper end is not below the value. */
const bucketOf = (limits: readonly number[], value: number): number => {
  let [low, high] = [0, limits.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (value <= limits[middle]!) high = middle;
    else low = middle + 1;
  }
  return low;
};

/** Null if there is no value. Values that are not finite are left out. */
export const ofWeighted = (values: Iterable<Weighted>): Histogram | null => {
  const finite = [...values].filter(([value, count]) => Number.isFinite(value) && count > 0);
  if (finite.length === 0) return null;
  let [min, max, count, sum, sumOfSquares] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0, 0];
  for (const [value, times] of finite) {
    min = Math.min(min, value);
    max = Math.max(max, value);
    count += times;
    sum += value * times;
    sumOfSquares += value * value * times;
  }
  const limits = limitsOf(
    min,
    max,
    finite.every(([value]) => Number.isInteger(value)),
  );
  const counts = limits.map(() => 0);
  for (const [value, times] of finite) counts[bucketOf(limits, value)]! += times;
  return { min, max, count, sum, sumOfSquares, limits, counts };
};

/** The histogram of values that count once each. */
export const ofValues = (values: Iterable<number>): Histogram | null =>
  ofWeighted([...values].map((value) => [value, 1] as const));
