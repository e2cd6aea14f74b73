/**
 * Success before and after training on the same instances, over several seeds. A bootstrap resamples the instances and keeps all seeds of one
 * together, so that the interval holds for other instances of the same kind.
 */
import { stream } from "../../src/domain/Random.ts";

export interface Estimate {
  readonly mean: number;
  /** 95 % percentile bootstrap. */
  readonly low: number;
  readonly high: number;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Estimate of the mean of a value per instance. */
export const bootstrap = (perInstance: readonly number[], draws = 4000): Estimate => {
  const random = stream({ seed: 1, purpose: "shuffle", counters: [perInstance.length] });
  const means = Array.from({ length: draws }, () => {
    let sum = 0;
    for (let i = 0; i < perInstance.length; i++) sum += perInstance[random.int(perInstance.length)]!;
    return sum / perInstance.length;
  }).sort((a, b) => a - b);
  return {
    mean: mean(perInstance),
    low: means[Math.floor(0.025 * draws)]!,
    high: means[Math.ceil(0.975 * draws) - 1]!,
  };
};

/** Mean over runs of each instance's value; every run has the same instances in the same order. */
export const overRuns = (runs: readonly (readonly number[])[]): readonly number[] =>
  (runs[0] ?? []).map((_, instance) => mean(runs.map((run) => run[instance]!)));

/** Instance by instance, `after - before`. */
export const differences = (before: readonly number[], after: readonly number[]): readonly number[] =>
  after.map((value, instance) => value - before[instance]!);
