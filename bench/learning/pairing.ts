/**
 * Success before and after training, or of two points of a sweep, on the same instances and over several seeds. All seeds of an instance are one
 * value, so that an interval over them holds for other instances of the same kind, and not for other seeds.
 */
import type { Interval } from "../../src/domain/intervals.ts";
import { mean } from "../../src/domain/Statistics.ts";

/** Mean over runs of each instance's value; every run has the same instances in the same order. */
export const overRuns = (runs: readonly (readonly number[])[]): readonly number[] =>
  (runs[0] ?? []).map((_, instance) => mean(runs.map((run) => run[instance]!)));

/** Instance by instance, `after - before`. */
export const differences = (before: readonly number[], after: readonly number[]): readonly number[] =>
  after.map((value, instance) => value - before[instance]!);

/** A validation as records have it: a digit for each instance, 1 where it was solved. */
export interface Validation {
  readonly step: number;
  readonly success: string;
}

/** The outcomes of a validation, 1 or 0 for each instance. */
export const outcomes = ({ success }: Validation): readonly number[] => Array.from(success, Number);

/** A share or a difference of shares in percent, with one decimal, and without a sign where it rounds to zero. */
export const percent = (value: number): string => (100 * value).toFixed(1).replace(/^-(?=0\.0$)/, "");

/** A share or a difference of shares with its interval, in percent. */
export const shown = ({ mean, low, high }: Interval): string => `${percent(mean)} [${percent(low)}, ${percent(high)}]`;

/** Outcomes of the instances, and how much was spent before them of what runs are compared over. */
export interface SpentOutcomes {
  readonly at: number;
  readonly outcomes: readonly number[];
}

/**
 * Mean of each instance over what is spent up to `budget`. What lies between two validations has the later one's outcomes, so that the first
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
