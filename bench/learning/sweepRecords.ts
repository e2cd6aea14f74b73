/**
 * The records of a sweep's runs, a file each in `bench/results/learning/SWEEP/`. A record that was trained with other settings than the sweep
 * has is refused.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Result } from "effect";
import { curvesOf } from "../../pipelines/sweepCurves.ts";
import type { SweepPlan } from "../../pipelines/sweepPlan.ts";
import { BadInput } from "../../src/domain/Errors.ts";
import { type Point, type SweepRun, settingsOf } from "../../src/tools/sweep/Point.ts";
import type { Finished } from "../../src/tools/sweep/Results.ts";
import type { RunRecord } from "./record.ts";

/** A record with the settings of its run beside those of the run file. */
export interface SweepRecord extends RunRecord {
  readonly settings: readonly string[];
}

/** A run of the sweep with its settings, and its record or null before it was trained. */
export interface RecordedRun {
  readonly run: SweepRun;
  readonly settings: readonly string[];
  readonly record: SweepRecord | null;
}

/** The runs of a sweep with their records from a folder. */
export const recordedRuns = (
  { file, runs }: Pick<SweepPlan, "file" | "runs">,
  folder: string,
): Result.Result<readonly RecordedRun[], BadInput> => {
  const recorded = runs.map(({ run }): RecordedRun => {
    const path = join(folder, `${run.name}.json`);
    const record = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : null;
    return { run, settings: settingsOf(file, run, []), record };
  });
  const other = recorded.find(({ record, settings }) => record && !isDeepStrictEqual(record.settings, settings));
  if (other === undefined) return Result.succeed(recorded);
  const path = join(folder, `${other.run.name}.json`);
  const message = `${path} was trained with other settings than the sweep has; remove it to train again`;
  return Result.fail(new BadInput({ message }));
};

/** The curves of each point's runs that have a record. */
export const finishedRuns = (
  points: readonly Point[],
  runs: readonly RecordedRun[],
): readonly (readonly [Point, readonly Finished[]])[] =>
  points.map((point) => {
    const finished = runs.flatMap(({ record, run }) =>
      record === null || run.point !== point ? [] : [{ seed: run.seed, curves: curvesOf(record.records, () => true) }],
    );
    return [point, finished] as const;
  });
