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
import type { SweepFile } from "../../src/tools/sweep/SweepFile.ts";
import { type RunRecord, recordOf, recordsFolder, writeRecord } from "./record.ts";
import { train } from "./training.ts";

/** A record with the settings of its run beside those of the run file. */
interface SweepRecord extends RunRecord {
  readonly settings: readonly string[];
}

/** The record of a run, or null before it was trained. Throws where the record is of other settings. */
const recordIn = (folder: string, file: SweepFile, run: SweepRun): SweepRecord | null => {
  const path = join(folder, `${run.name}.json`);
  if (!existsSync(path)) return null;
  const found: SweepRecord = JSON.parse(readFileSync(path, "utf8"));
  if (isDeepStrictEqual(found.settings, settingsOf(file, run, []))) return found;
  throw new Error(`${path} was trained with other settings than the sweep has; remove it to train again`);
};

const trainMissing = async ({ configName, file, runs }: SweepPlan, folder: string, most: number): Promise<void> => {
  const missing = runs.map(({ run }) => run).filter((run) => recordIn(folder, file, run) === null);
  missing.sort((a, b) => file.seeds.indexOf(a.seed) - file.seeds.indexOf(b.seed));
  for (const run of missing.slice(0, most)) {
    console.log(`${run.name}: one of ${missing.length} runs without a record`);
    const settings = settingsOf(file, run, []);
    await train(configName, [...settings, `run.name=${JSON.stringify(run.name)}`], {
      write: (path) => {
        const record: SweepRecord = { ...recordOf(path, metricsOf(file.metrics)), settings };
        return writeRecord(folder, run.name, record);
      },
    });
  }
};

const printTable = ({ file, points, runs }: SweepPlan, folder: string): void => {
  const finished = points.map((point) => {
    const ofPoint = runs.flatMap(({ run }) => {
      const record = run.point === point ? recordIn(folder, file, run) : null;
      return record === null ? [] : [{ seed: run.seed, curves: curvesOf(record.records, () => true) }];
    });
    return [point, ofPoint] as const;
  });
  for (const line of table(textRows(resultsOf(file, finished)))) console.log(line);
};

const { positionals, values } = parseArgs({ allowPositionals: true, options: { most: { type: "string" } } });
const [name] = positionals;
if (name === undefined) {
  console.error("name a sweep, e.g. sampler");
  process.exit(2);
}
const plan = await Effect.runPromise(planOf(name, []));
if (plan.file.command !== "train") {
  console.error(`${name} evaluates; millrace sweep ${name} plays it`);
  process.exit(2);
}
const folder = join(recordsFolder, plan.name);
await trainMissing(plan, folder, Number(values.most ?? Number.POSITIVE_INFINITY));
printTable(plan, folder);
