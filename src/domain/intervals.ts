/**
 * Intervals (95 %) of a share and of a mean, and tests of two evaluations that played the same instances. Pure, with the same bits each
 * time. Invariant: the interval of a share lies within 0 and 1.
 */
import { stream } from "./Random.ts";
import { mean, sum } from "./Statistics.ts";

/** A mean with its 95 % interval. */
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

/**
 * Both ends of the 95 % interval of the mean of all values by the percentile bootstrap (Efron, 1979), from `draws` resamples of whole clusters;
 * NaN without a cluster. The draws are a function of the number of clusters.
 */
export const bootstrapEnds = (
  clusters: readonly (readonly number[])[],
  draws: number,
): readonly [low: number, high: number] => {
  const random = stream({ seed: 1, purpose: "shuffle", counters: [clusters.length] });
  const sums = clusters.map(sum);
  const means = Float64Array.from({ length: draws }, () => {
    let [total, count] = [0, 0];
    for (let at = 0; at < clusters.length; at++) {
      const drawn = random.int(clusters.length);
      total += sums[drawn] ?? Number.NaN;
      count += clusters[drawn]?.length ?? Number.NaN;
    }
    return total / count;
  }).sort();
  return [means[Math.floor(0.025 * draws)] ?? Number.NaN, means[Math.ceil(0.975 * draws) - 1] ?? Number.NaN];
};

const resamples = 4_000;

/**
 * The mean of all values with its interval by the cluster bootstrap: instances are resampled with all their values, so that the interval holds
 * for other instances of the same kind. Each entry holds the values of one instance.
 */
export const clusterBootstrap = (instances: readonly (readonly number[])[]): Interval => {
  const [low, high] = bootstrapEnds(instances, resamples);
  return { mean: mean(instances.flat()), low, high };
};

/** The mean of values that stand for one instance each, with its interval by the bootstrap. */
export const bootstrap = (values: readonly number[]): Interval => clusterBootstrap(values.map((value) => [value]));

/** True if no instance was played more than once. */
export const isPlayedOnce = (instances: readonly { readonly length: number }[]): boolean =>
  instances.every(({ length }) => length === 1);

/**
 * Interval of the share of episodes that succeeded: Wilson's where each instance was played once, else the cluster bootstrap over instances,
 * since the episodes of one instance are not independent. Each entry holds the outcomes (1 or 0) of one instance.
 */
export const successInterval = (instances: readonly (readonly number[])[]): Interval =>
  isPlayedOnce(instances) ? wilson(sum(instances.flat()), instances.length) : clusterBootstrap(instances);

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
