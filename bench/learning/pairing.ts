/**
 * Success before and after training on the same instances, over several seeds. All seeds of an instance are one value, so that an interval
 * over them holds for other instances of the same kind.
 */
import { mean } from "../../src/domain/Statistics.ts";

/** Mean over runs of each instance's value; every run has the same instances in the same order. */
export const overRuns = (runs: readonly (readonly number[])[]): readonly number[] =>
  (runs[0] ?? []).map((_, instance) => mean(runs.map((run) => run[instance]!)));

/** Instance by instance, `after - before`. */
export const differences = (before: readonly number[], after: readonly number[]): readonly number[] =>
  after.map((value, instance) => value - before[instance]!);
