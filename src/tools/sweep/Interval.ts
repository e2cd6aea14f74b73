/**
 * Intervals of a mean over runs, 95 % by Student's t or by the bootstrap. Pure: equal values give the same bits. One value has no interval.
 */
import { bootstrapEnds } from "../../domain/intervals.ts";
import { mean, standardDeviation } from "../../domain/Statistics.ts";

export interface Interval {
  readonly mean: number;
  readonly values: number;
  /** Both ends of the 95 % interval; null of one value. */
  readonly low: number | null;
  readonly high: number | null;
}

export type IntervalKind = "t" | "bootstrap";

/** P(|T| > t) of Student's t with `df` degrees of freedom, by its finite trigonometric series (Abramowitz and Stegun, 26.7.3 and 26.7.4). */
const outside = (t: number, df: number): number => {
  const angle = Math.atan(t / Math.sqrt(df));
  const cos2 = Math.cos(angle) ** 2;
  let term = df % 2 === 0 ? 1 : Math.cos(angle);
  let sum = df === 1 ? 0 : term;
  for (let k = df % 2 === 0 ? 2 : 3; k < df; k += 2) {
    term *= (cos2 * (k - 1)) / k;
    sum += term;
  }
  const within = df % 2 === 0 ? Math.sin(angle) * sum : (2 / Math.PI) * (angle + Math.sin(angle) * sum);
  return 1 - within;
};

/** The 97.5 % quantile of Student's t with `df` degrees of freedom (at least 1). */
export const tQuantile = (df: number): number => {
  let [low, high] = [0, 13];
  for (let halving = 0; halving < 60; halving++) {
    const middle = (low + high) / 2;
    if (outside(middle, df) > 0.05) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
};

const resamples = 10_000;

/** The range that a metric's mean can have. */
export interface Bounds {
  readonly least: number;
  readonly greatest: number;
}

const unbounded: Bounds = { least: Number.NEGATIVE_INFINITY, greatest: Number.POSITIVE_INFINITY };
export const ofShares: Bounds = { least: 0, greatest: 1 };

/**
 * Takes at least one value. Student's interval is cut at the bounds, which its formula does not know; the bootstrap never leaves its
 * values.
 */
export const intervalOf = (
  kind: IntervalKind,
  values: readonly number[],
  { greatest, least }: Bounds = unbounded,
): Interval => {
  const centre = mean(values);
  if (values.length < 2) return { mean: centre, values: values.length, low: null, high: null };
  if (kind === "bootstrap") {
    const [low, high] = bootstrapEnds(
      values.map((value) => [value]),
      resamples,
    );
    return { mean: centre, values: values.length, low, high };
  }
  const half = (tQuantile(values.length - 1) * standardDeviation(values)) / Math.sqrt(values.length);
  return {
    mean: centre,
    values: values.length,
    low: Math.max(least, centre - half),
    high: Math.min(greatest, centre + half),
  };
};
