/**
 * `node bench/remote/report.ts` prints the records of the ways (`bench/results/learning/lake-*.json`) as Markdown. It
 * shows the curve of validation success with its intervals. It also shows how far each way lies from the local one, at
 * equal steps on the same instances and training groups.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bootstrap } from "../../src/domain/intervals.ts";
import { mean } from "../../src/domain/Statistics.ts";
import { differences, outcomes, overRuns, shown, type Validation } from "../learning/pairing.ts";

interface Run {
  readonly name: string;
  readonly mode: string;
  readonly seed: number;
  readonly seconds: number;
  readonly validations: readonly Validation[];
  readonly records: readonly Readonly<Record<string, number>>[];
}

const folder = join(import.meta.dirname, "..", "results", "learning");
const runs: readonly Run[] = readdirSync(folder)
  // lake-agent is the quickstart played by an agent (docs/agents.md), and no way to be remote.
  .filter((file) => /^lake-(?!agent-).*\.json$/.test(file))
  .map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")));

const ways = [...Map.groupBy(runs, ({ name }) => name)].map(([name, wayRuns]) => ({
  name: name.replace("lake-", ""),
  runs: wayRuns.toSorted((a, b) => a.seed - b.seed),
}));
const reference = ways.find(({ name }) => name === "local");
if (reference === undefined) throw new Error("there is no record of the way that is all here");

/** Mean over the runs of each instance at the nth validation. */
const instances = (runs: readonly Run[], nth: number): readonly number[] =>
  overRuns(runs.map(({ validations }) => outcomes(validations[nth]!)));
const training = ({ records }: Run): readonly number[] =>
  records.flatMap((record) => (record["train/success"] === undefined ? [] : [record["train/success"]]));
const meanOf = (runs: readonly Run[], key: string): number =>
  mean(runs.flatMap(({ records }) => records.flatMap((record) => (record[key] === undefined ? [] : [record[key]]))));
const mostOf = (runs: readonly Run[], key: string): number =>
  Math.max(...runs.flatMap(({ records }) => records.map((record) => record[key] ?? 0)));

const steps = reference.runs[0]!.validations.map(({ step }) => step);
console.log(`| way | seeds | ${steps.map((step) => `step ${step}, %`).join(" | ")} | minutes |`);
console.log(`|---|---|${steps.map(() => "---").join("|")}|---|`);
for (const { name, runs } of ways) {
  const curve = steps.map((_, nth) => shown(bootstrap(instances(runs, nth))));
  const minutes = runs.map(({ seconds }) => (seconds / 60).toFixed(1)).join(", ");
  console.log(`| ${name} | ${runs.map(({ seed }) => seed).join(", ")} | ${curve.join(" | ")} | ${minutes} |`);
}

const later = steps.slice(1);
const columns = later.map((step) => `step ${step}`).join(" | ");
console.log(
  `\n| way less all here, points | ${columns} | training, a step | staleness, mean and most | effective sample size |`,
);
console.log(`|---|${later.map(() => "---").join("|")}|---|---|---|`);
for (const { name, runs } of ways) {
  const here = reference.runs.filter(({ seed }) => runs.some((run) => run.seed === seed));
  const apart = later.map((_, i) => shown(bootstrap(differences(instances(here, i + 1), instances(runs, i + 1)))));
  const along = bootstrap(differences(overRuns(here.map(training)), overRuns(runs.map(training))));
  const stale = `${meanOf(runs, "staleness/mean").toFixed(2)}, ${mostOf(runs, "staleness/max")}`;
  const cells = name === reference.name ? [...apart, ""].map(() => "") : [...apart, shown(along)];
  console.log(`| ${name} | ${cells.join(" | ")} | ${stale} | ${meanOf(runs, "mismatch/ess").toFixed(4)} |`);
}
