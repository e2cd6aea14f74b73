/**
 * `node bench/learning/sweep.ts SWEEP [--most N]`: trains the runs of a sweep that have no record yet, one after the other and `N` of them at
 * most, then prints the sweep's table over all records. First seeds come first. The records are in `bench/results/learning/SWEEP/`, so that
 * a sweep of hours can be made in several sittings.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Effect } from "effect";
import { planOf, type SweepPlan } from "../../pipelines/sweepPlan.ts";
import { table } from "../../pipelines/table.ts";
import { type SweepRun, settingsOf } from "../../src/tools/sweep/Point.ts";
import { type Curves, metricsOf, resultsOf, textRows } from "../../src/tools/sweep/Results.ts";
import type { Value } from "../../src/tools/sweep/summary.ts";
import { type RunRecord, recordOf, recordsFolder, writeRecord } from "./record.ts";
import { train } from "./training.ts";

const curvesOf = ({ records }: RunRecord): Curves => {
  const curves = new Map<string, Value[]>();
  for (const { step, ...values } of records) {
    if (step === undefined) continue;
    for (const [metric, value] of Object.entries(values)) {
      const curve = curves.get(metric) ?? [];
      curve.push({ step, value });
      curves.set(metric, curve);
    }
  }
  return curves;
};

/** The record of a run, or nothing before it was trained. */
const recordIn = (folder: string, { name }: SweepRun): RunRecord | null => {
  const path = join(folder, `${name}.json`);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : null;
};

const trainMissing = async ({ configName, file, runs }: SweepPlan, folder: string, most: number): Promise<void> => {
  const missing = runs.map(({ run }) => run).filter((run) => recordIn(folder, run) === null);
  missing.sort((a, b) => file.seeds.indexOf(a.seed) - file.seeds.indexOf(b.seed));
  for (const run of missing.slice(0, most)) {
    console.log(`${run.name}: one of ${missing.length} runs without a record`);
    await train(configName, [...settingsOf(file, run, []), `run.name=${JSON.stringify(run.name)}`], {
      write: (path) => writeRecord(folder, run.name, recordOf(path, metricsOf(file.metrics))),
    });
  }
};

const printTable = ({ file, points, runs }: SweepPlan, folder: string): void => {
  const finished = points.map((point) => {
    const ofPoint = runs.flatMap(({ run }) => {
      const record = run.point === point ? recordIn(folder, run) : null;
      return record === null ? [] : [{ seed: run.seed, curves: curvesOf(record) }];
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
const folder = join(recordsFolder, plan.name);
await trainMissing(plan, folder, Number(values.most ?? Number.POSITIVE_INFINITY));
printTable(plan, folder);
