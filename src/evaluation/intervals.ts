/**
 * How sure an evaluation is: 95 % intervals of a share and of a mean, and tests of two that played the same instances. Pure, and the same bits each
 * time.
 */
import { bootstrapEnds } from "../domain/bootstrap.ts";
import { mean } from "../domain/Statistics.ts";

export interface Interval {
  readonly mean: number;
  /** Both ends of the 95 % interval. */
  readonly low: number;
  readonly high: number;
}

/** The 97.5 % quantile of the normal distribution. */
const z = 1.959_963_984_540_054;

/** Score interval of a share of independent trials (Wilson, 1927): within [0, 1], and not empty at 0 or 1. */
export const wilson = (successes: number, trials: number): Interval => {
  const share = successes / trials;
  const spread = z * Math.sqrt((share * (1 - share)) / trials + (z / (2 * trials)) ** 2);
  const centre = share + z ** 2 / (2 * trials);
  const scale = 1 + z ** 2 / trials;
  // At the ends the formula is exact, and its rounding is not.
  const low = successes === 0 ? 0 : (centre - spread) / scale;
  const high = successes === trials ? 1 : (centre + spread) / scale;
  return { mean: share, low, high };
};

const resamples = 4_000;

/**
 * Percentile bootstrap of the mean (Efron, 1979). Each value stands for one instance: where an instance was played more than once, it is the mean
 * of its episodes, so that the interval holds for other instances of the same kind.
 */
export const bootstrap = (values: readonly number[], draws: number = resamples): Interval => {
  const [low, high] = bootstrapEnds(values, draws);
  return { mean: mean(values), low, high };
};

/**
 * Two-sided exact test of two shares on the same trials (McNemar, 1947, by the binomial distribution): `gained` trials only the second one
 * succeeded in, `lost` only the first. The probability of a difference at least as large where neither is better.
 */
export const mcnemar = (gained: number, lost: number): number => {
  const trials = gained + lost;
  const fewer = Math.min(gained, lost);
  // In logarithms: 2 ** -trials is 0 from about a thousand trials on.
  let term = -trials * Math.LN2;
  let tail = 0;
  for (let i = 0; i <= fewer; i++) {
    tail += Math.exp(term);
    term += Math.log(trials - i) - Math.log(i + 1);
  }
  return Math.min(1, 2 * tail);
};
