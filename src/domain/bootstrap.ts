/**
 * The percentile bootstrap of a mean (Efron, 1979). Pure, and the same bits each time: its draws are a function of the number of values.
 */
import { stream } from "./Random.ts";

/** Both ends of the 95 % interval of the mean of `values`, from `draws` resamples; NaN without values. */
export const bootstrapEnds = (values: readonly number[], draws: number): readonly [low: number, high: number] => {
  const random = stream({ seed: 1, purpose: "shuffle", counters: [values.length] });
  const means = Float64Array.from({ length: draws }, () => {
    let sum = 0;
    for (let at = 0; at < values.length; at++) sum += values[random.int(values.length)] ?? Number.NaN;
    return sum / values.length;
  }).sort();
  return [means[Math.floor(0.025 * draws)] ?? Number.NaN, means[Math.ceil(0.975 * draws) - 1] ?? Number.NaN];
};
