/**
 * `node bench/learning/record.ts RUN_FOLDER…`: writes a record of each finished run to `bench/results/learning/`: commit, machine, the outcome
 * of every validation episode, and a line per step. `report.ts` reads the records.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse } from "yaml";
import { machine } from "../machine.ts";
import type { Instances } from "./pairing.ts";

/** Metrics that a record of a run repeats; the run's own metrics.jsonl has all. */
const kept = [
  "step",
  "train/success",
  "train/charts/avg_episode_return",
  "val-env/success",
  "actor/entropy",
  "actor/ppo_kl",
  "actor/pg_clipfrac",
  "actor/grad_norm",
  "critic/vf_explained_var",
  "rollout/filter_kept_count",
  "staleness/mean",
  "staleness/max",
  "mismatch/ess",
  "mismatch/kl",
  "mismatch/abs/mean",
  "mismatch/abs/max",
  "tokens/generated_per_second",
  "tokens/trained_per_second",
  "timing_s/step",
  "timing_s/update",
  "timing_s/total",
] as const;

const lines = (file: string) =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

/** A line of metrics.jsonl: what was not measured is absent, what is no finite number null. */
type Line = Readonly<Record<string, number | null>>;

/** The metrics of `names` that the line has, to five digits. */
const cut = (line: Line, names: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    names.flatMap((key) => {
      const value = line[key] ?? null;
      return value === null ? [] : [[key, Number(value.toPrecision(5))]];
    }),
  );

/**
 * The number of each validation episode's instance, by the instance of each seed. Undefined where each episode has an instance of its own, which
 * is also taken of a seed without one.
 */
const instancesOf = (seeds: readonly (string | null)[], groupSize: number): Instances => {
  const numbers = seeds.flatMap((instance, seed) =>
    Array.from({ length: groupSize }, () => (instance === null ? seed : seeds.indexOf(instance))),
  );
  return new Set(numbers).size === numbers.length ? undefined : numbers;
};

/** Seconds since the epoch of a folder named `yyyymmdd-hhmmss`. */
const startOf = (folder: string): number => {
  const iso = basename(folder).replace(/^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d).*$/, "$1-$2-$3T$4:$5:$6Z");
  const millis = Date.parse(iso);
  if (Number.isNaN(millis)) throw new Error(`${folder} is not named as a run's folder`);
  return millis / 1000;
};

/** The record of the run in a folder, with the metrics that every record keeps and `more`. */
export const recordOf = (run: string, more: Iterable<string> = []) => {
  const config = parse(readFileSync(join(run, "config.yaml"), "utf8"));
  const metrics: readonly Line[] = lines(join(run, "metrics.jsonl"));
  const end = metrics.at(-1)?.time ?? null;
  if (end === null) throw new Error(`${run} has no record of a step`);
  const { name, seed } = config.run;
  const { mode } = config.pipeline;
  const validations = lines(join(run, "validations.jsonl"));
  const instances = instancesOf(validations[0]?.instances ?? [], config.es_manager.val.group_size);
  const names = [...new Set([...kept, ...more])];
  return {
    name,
    mode,
    seed,
    steps: config.trainer.total_training_steps,
    machine: machine(),
    /** From the run's folder to its last record: training and both validations, without the start of the process. */
    seconds: Math.round(end / 1000 - startOf(run)),
    ...(instances === undefined ? {} : { instances }),
    validations: validations.map(({ step, version, success }) => ({
      step,
      version,
      success: success.join(""),
    })),
    records: metrics.map((line) => cut(line, names)),
  };
};

export type RunRecord = ReturnType<typeof recordOf>;

/** The folder of all records. */
export const recordsFolder = join(import.meta.dirname, "..", "results", "learning");

/** Writes a record as a file of the folder, and gives its path. */
export const writeRecord = (folder: string, name: string, record: RunRecord): string => {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.json`);
  writeFileSync(file, `${JSON.stringify(record)}\n`);
  return file;
};

/** Writes the record of a run's folder and gives its path. */
export const record = (run: string): string => {
  const found = recordOf(run);
  return writeRecord(recordsFolder, `${found.name}-${found.mode}-seed${found.seed}`, found);
};

if (import.meta.main) {
  const folders = process.argv.slice(2);
  if (folders.length === 0) {
    console.error("name the folder of a finished run");
    process.exit(2);
  }
  for (const run of folders) console.log(record(run));
}
