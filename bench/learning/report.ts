/**
 * `node bench/learning/report.ts [FOLDER]`: the records in a folder, by default `bench/results/learning/`, as a Markdown table: success before and
 * after on the same instances, the paired difference with its interval, and the seconds.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { mean } from "../../src/domain/Statistics.ts";
import {
  differences,
  type Instances,
  intervalOver,
  outcomes,
  overRuns,
  percent,
  shown,
  type Validation,
} from "./pairing.ts";

interface Record_ {
  readonly name: string;
  readonly mode: string;
  readonly seed: number;
  readonly seconds: number;
  readonly instances?: Instances;
  readonly validations: readonly Validation[];
}

const folder = process.argv[2] ?? join(import.meta.dirname, "..", "results", "learning");
const records: readonly Record_[] = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .sort()
  .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));

const first = ({ validations }: Record_): readonly number[] => outcomes(validations[0]!);
const last = ({ validations }: Record_): readonly number[] => outcomes(validations.at(-1)!);

console.log("| run | mode | seeds | before % | after % | rise, points | each seed | minutes |");
console.log("|---|---|---|---|---|---|---|---|");
const groups = new Map<string, Record_[]>();
for (const record of records) {
  const key = `${record.name}|${record.mode}`;
  groups.set(key, [...(groups.get(key) ?? []), record]);
}
for (const [key, runs] of groups) {
  const [name, mode] = key.split("|");
  const before = overRuns(runs.map(first));
  const after = overRuns(runs.map(last));
  const interval = (values: readonly number[]): string => shown(intervalOver(runs[0]?.instances, values));
  const each = runs.map((run) => percent(mean(last(run)))).join(", ");
  const minutes = runs.map(({ seconds }) => (seconds / 60).toFixed(1)).join(", ");
  console.log(
    `| ${name} | ${mode} | ${runs.map(({ seed }) => seed).join(", ")} | ${interval(before)} | ${interval(after)} | ${interval(differences(before, after))} | ${each} | ${minutes} |`,
  );
}

/** Modes against async on the same seeds and instances. */
for (const [key, runs] of groups) {
  const [name, mode] = key.split("|");
  const reference = groups.get(`${name}|async`);
  if (mode === "async" || reference === undefined) continue;
  const seeds = runs.filter(({ seed }) => reference.some((other) => other.seed === seed));
  const paired = reference.filter(({ seed }) => seeds.some((other) => other.seed === seed));
  const gaps = differences(overRuns(seeds.map(last)), overRuns(paired.map(last)));
  const gap = intervalOver(seeds[0]?.instances, gaps);
  const time = (list: readonly Record_[]): number => list.reduce((sum, { seconds }) => sum + seconds, 0);
  console.log(
    `\n${name}: async minus ${mode}, after: ${shown(gap)} points; wall-clock of async over ${mode}: ${(time(paired) / time(seeds)).toFixed(2)}`,
  );
}
