/**
 * Success before and after training, or of two points of a sweep, on the same validation episodes and over several seeds. All seeds of an episode
 * are one value, and intervals are over instances, so that they hold for other instances of the same kind, and not for other seeds.
 */
import { clusterBootstrap, type Interval } from "../../src/domain/intervals.ts";
import { mean } from "../../src/domain/Statistics.ts";

/** Mean over runs of each episode's value; every run has the same episodes in the same order. */
export const overRuns = (runs: readonly (readonly number[])[]): readonly number[] =>
  (runs[0] ?? []).map((_, episode) => mean(runs.map((run) => run[episode]!)));

/** Episode by episode, `after - before`. */
export const differences = (before: readonly number[], after: readonly number[]): readonly number[] =>
  after.map((value, episode) => value - before[episode]!);

/** A validation as records have it: a digit for each episode, 1 where it succeeded. */
export interface Validation {
  readonly step: number;
  readonly success: string;
}

/** The number of each episode's instance; undefined where each episode has an instance of its own. */
export type Instances = readonly number[] | undefined;

/** The mean of the episodes' values, with its interval over instances. */
export const intervalOver = (instances: Instances, values: readonly number[]): Interval => {
  const grouped = Map.groupBy(values.keys(), (episode) => instances?.[episode] ?? episode);
  return clusterBootstrap([...grouped.values()].map((episodes) => episodes.map((episode) => values[episode]!)));
};

/** The outcomes of a validation, 1 or 0 for each episode. */
export const outcomes = ({ success }: Validation): readonly number[] => Array.from(success, Number);

/** A share or a difference of shares in percent, with one decimal, and without a sign where it rounds to zero. */
export const percent = (value: number): string => (100 * value).toFixed(1).replace(/^-(?=0\.0$)/, "");

/** A share or a difference of shares with its interval, in percent. */
export const shown = ({ mean, low, high }: Interval): string => `${percent(mean)} [${percent(low)}, ${percent(high)}]`;

/** Outcomes of the episodes, and how much was spent before them of what runs are compared over. */
export interface SpentOutcomes {
  readonly at: number;
  readonly outcomes: readonly number[];
}

/**
 * Mean of each episode over what is spent up to `budget`. What lies between two validations has the later one's outcomes, so that the first
 * validation, of the starting weights, does not count. `points` ascend, and the last is at the budget or beyond it.
 */
export const meanUpTo = (budget: number, points: readonly SpentOutcomes[]): readonly number[] => {
  const shares = points.slice(1).map(({ at, outcomes }, index) => {
    const from = points[index]!.at;
    const share = (Math.min(at, budget) - Math.min(from, budget)) / budget;
    return outcomes.map((outcome) => share * outcome);
  });
  return (shares[0] ?? []).map((_, instance) => shares.reduce((sum, share) => sum + share[instance]!, 0));
};
