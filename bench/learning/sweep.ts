/**
 * `node bench/learning/sweep.ts SWEEP [--most N]`: trains the runs of a sweep that have no record yet, one after the other and `N` of them at
 * most, then prints the sweep's table over all records. First seeds come first. The records are in `bench/results/learning/SWEEP/`, so that
 * a sweep of hours can be made in several sittings.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { Effect } from "effect";
import { curvesOf } from "../../pipelines/sweepCurves.ts";
import { planOf, type SweepPlan } from "../../pipelines/sweepPlan.ts";
import { table } from "../../pipelines/table.ts";
import { type SweepRun, settingsOf } from "../../src/tools/sweep/Point.ts";
import { metricsOf, resultsOf, textRows } from "../../src/tools/sweep/Results.ts";
import { type RunRecord, recordOf, recordsFolder, writeRecord } from "./record.ts";
import { train } from "./training.ts";

/** A record with the settings of its run beside those of the run file. */
interface SweepRecord extends RunRecord {
  readonly settings: readonly string[];
}

/** A run of the sweep with its settings, and its record or null before it was trained. */
interface RecordedRun {
  readonly run: SweepRun;
  readonly settings: readonly string[];
  readonly record: SweepRecord | null;
}

/** Ends the process with exit code 2 and a sentence. */
const refuse = (message: string): never => {
  console.error(message);
  process.exit(2);
};

const pathOf = (folder: string, { name }: SweepRun): string => join(folder, `${name}.json`);

/** The runs of a sweep with their records. A record of other settings ends the process. */
const recordedRuns = ({ file, runs }: SweepPlan, folder: string): readonly RecordedRun[] =>
  runs.map(({ run }) => {
    const settings = settingsOf(file, run, []);
    const path = pathOf(folder, run);
    if (!existsSync(path)) return { run, settings, record: null };
    const record: SweepRecord = JSON.parse(readFileSync(path, "utf8"));
    if (!isDeepStrictEqual(record.settings, settings)) {
      refuse(`${path} was trained with other settings than the sweep has; remove it to train again`);
    }
    return { run, settings, record };
  });

/** Trains a run and writes its record into the folder. */
const trained = async (
  { configName, file }: SweepPlan,
  { run, settings }: RecordedRun,
  folder: string,
): Promise<void> => {
  await train(configName, [...settings, `run.name=${JSON.stringify(run.name)}`], {
    write: (path) => {
      const record: SweepRecord = { ...recordOf(path, metricsOf(file.metrics)), settings };
      return writeRecord(folder, run.name, record);
    },
  });
};

const printTable = ({ file, points }: SweepPlan, runs: readonly RecordedRun[]): void => {
  const finished = points.map((point) => {
    const ofPoint = runs.flatMap(({ record, run }) =>
      record === null || run.point !== point ? [] : [{ seed: run.seed, curves: curvesOf(record.records, () => true) }],
    );
    return [point, ofPoint] as const;
  });
  for (const line of table(textRows(resultsOf(file, finished)))) console.log(line);
};

const { positionals, values } = parseArgs({ allowPositionals: true, options: { most: { type: "string" } } });
const [name = refuse("name a sweep, e.g. sampler")] = positionals;
const plan = await Effect.runPromise(
  Effect.catch(planOf(name, []), ({ message }) => Effect.sync(() => refuse(message))),
);
if (plan.file.command !== "train") refuse(`${name} evaluates; millrace sweep ${name} plays it`);
const folder = join(recordsFolder, plan.name);
const missing = recordedRuns(plan, folder).filter(({ record }) => record === null);
const { seeds } = plan.file;
missing.sort((a, b) => seeds.indexOf(a.run.seed) - seeds.indexOf(b.run.seed));
for (const [index, run] of missing.slice(0, Number(values.most ?? missing.length)).entries()) {
  console.log(`${run.run.name}: ${index + 1} of ${missing.length} runs without a record`);
  await trained(plan, run, folder);
}
printTable(plan, recordedRuns(plan, folder));
