/** Summaries of repeated measurements: median and interquartile range. tinybench does the timing. */
import { Bench } from "tinybench";

export interface Samples {
  readonly median: number;
  /** Third quartile minus first. */
  readonly iqr: number;
  readonly count: number;
}

/** Linear interpolation between the two nearest of the sorted values. */
export const quantile = (sorted: readonly number[], share: number): number => {
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)]!;
  return below + (at - Math.floor(at)) * (sorted[Math.ceil(at)]! - below);
};

export const samplesOf = (values: readonly number[]): Samples => {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: quantile(sorted, 0.5), iqr: quantile(sorted, 0.75) - quantile(sorted, 0.25), count: sorted.length };
};

/** `per / value` of each value: a rate out of times. */
export const rates = (values: readonly number[], per: number): Samples => samplesOf(values.map((value) => per / value));

export interface RepeatOptions {
  /** Runs that count. */
  readonly iterations: number;
  /** Runs before them that do not. */
  readonly warmup: number;
}

/**
 * Milliseconds of each run of `work`; where `work` gives a number, that is the run's time instead of the one measured around it.
 * Rejects with what `work` rejects with.
 */
export const repeat = async (
  { iterations, warmup }: RepeatOptions,
  work: () => Promise<unknown>,
): Promise<readonly number[]> => {
  const bench = new Bench({
    time: 0,
    iterations,
    warmup: warmup > 0,
    warmupTime: 0,
    warmupIterations: Math.max(1, warmup),
    retainSamples: true,
    throws: true,
  });
  bench.add(
    "work",
    async () => {
      const ms = await work();
      return typeof ms === "number" ? { overriddenDuration: ms } : undefined;
    },
    { async: true },
  );
  const [task] = await bench.run();
  const result = task?.result;
  if (result?.state !== "completed" || result.latency.samples === undefined) {
    throw new Error(`the repetitions ended as ${result?.state}`);
  }
  return result.latency.samples;
};
