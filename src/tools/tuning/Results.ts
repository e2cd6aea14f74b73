/** Results of the candidates' real runs, beside what virtual time predicted. */
import type { Settings } from "../simulation/replay/Training.ts";
import { measuredThroughput, type ObservedRun, type Throughput } from "./ObservedRun.ts";
import { sameSettings } from "./Space.ts";

export interface Result {
  readonly settings: Settings;
  readonly predicted: Throughput;
  /** One for each real run, in their order. */
  readonly measured: readonly Throughput[];
}

const middle = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.ceil((sorted.length - 1) / 2)]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
};

/** Medians over the runs; undefined where there was none. */
export const medianOf = ({ measured }: Result): Throughput | undefined => {
  if (measured.length === 0) return undefined;
  const medianPart = (part: (pace: Throughput) => number) => middle(measured.map(part));
  return {
    windowsPerHour: medianPart(({ windowsPerHour }) => windowsPerHour),
    trainedPerSecond: medianPart(({ trainedPerSecond }) => trainedPerSecond),
    staleShare: medianPart(({ staleShare }) => staleShare),
    meanBehind: medianPart(({ meanBehind }) => meanBehind),
    mostBehind: Math.max(...measured.map(({ mostBehind }) => mostBehind)),
  };
};

/** Largest distance of a run from the median, as a share of it. */
export const spreadOf = (result: Result): number => {
  const median = medianOf(result)?.windowsPerHour;
  if (median === undefined) return 0;
  return Math.max(...result.measured.map(({ windowsPerHour }) => Math.abs(windowsPerHour / median - 1)));
};

/** The share by which the prediction lies above the measured median. */
export const errorOf = (result: Result): number | undefined => {
  const median = medianOf(result)?.windowsPerHour;
  return median === undefined ? undefined : result.predicted.windowsPerHour / median - 1;
};

export const withRun = (results: readonly Result[], run: ObservedRun): readonly Result[] =>
  results.map((result) =>
    sameSettings(result.settings, run.settings)
      ? { ...result, measured: [...result.measured, measuredThroughput(run)] }
      : result,
  );

/** The share that the best measured settings gain over the run file's own. */
export const gainOf = (best: Result, shipped: Result): number | undefined => {
  const [after, before] = [medianOf(best), medianOf(shipped)];
  return after === undefined || before === undefined ? undefined : after.windowsPerHour / before.windowsPerHour - 1;
};

/** The measured result with the most windows an hour; undefined where nothing was measured. */
export const bestOf = (results: readonly Result[]): Result | undefined =>
  results
    .filter(({ measured }) => measured.length > 0)
    .toSorted((a, b) => medianOf(b)!.windowsPerHour - medianOf(a)!.windowsPerHour)[0];
