/**
 * `node bench/learning/sweep.ts SWEEP [--most N]`: trains the runs of a sweep that have no record yet, one after the other and `N` of them at
 * most, then prints the sweep's table over all records. First seeds come first. The records are in `bench/results/learning/SWEEP/`, so that
 * a sweep of hours can be made in several sittings.
 */
import { join } from "node:path";
import { Effect, Result } from "effect";
import { planOf, type SweepPlan } from "../../pipelines/sweepPlan.ts";
import { table } from "../../pipelines/table.ts";
import { metricsOf, resultsOf, textRows } from "../../src/tools/sweep/Results.ts";
import { readArguments, refuse } from "../readArguments.ts";
import { recordOf, recordsFolder, writeRecord } from "./record.ts";
import { finishedRuns, type RecordedRun, recordedRuns, type SweepRecord } from "./sweepRecords.ts";
import { train } from "./training.ts";

/** The runs of a sweep with their records. A record of other settings ends the process. */
const runsIn = (plan: SweepPlan, folder: string): readonly RecordedRun[] =>
  Result.getOrElse(recordedRuns(plan, folder), ({ message }) => refuse(message));

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
  for (const line of table(textRows(resultsOf(file, finishedRuns(points, runs))))) console.log(line);
};

const { positionals, values } = readArguments({ allowPositionals: true, options: { most: { type: "string" } } });
const [name = refuse("name a sweep, e.g. sampler")] = positionals;
const most = values.most === undefined ? Number.POSITIVE_INFINITY : Number(values.most);
if (!(most >= 0)) refuse(`--most is a number of runs: ${values.most}`);
const plan = await Effect.runPromise(
  Effect.catch(planOf(name, []), ({ message }) => Effect.sync(() => refuse(message))),
);
if (plan.file.command !== "train") refuse(`${name} evaluates; millrace sweep ${name} plays it`);
const folder = join(recordsFolder, plan.name);
const missing = runsIn(plan, folder).filter(({ record }) => record === null);
const { seeds } = plan.file;
missing.sort((a, b) => seeds.indexOf(a.run.seed) - seeds.indexOf(b.run.seed));
for (const [index, run] of missing.slice(0, most).entries()) {
  console.log(`${run.run.name}: ${index + 1} of ${missing.length} runs without a record`);
  await trained(plan, run, folder);
}
printTable(plan, runsIn(plan, folder));
