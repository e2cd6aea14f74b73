/**
 * `node bench/learning/run.ts RUN_FILE [--seeds 0,1,2] [--modes async,sync,lockstep] [key.sub=value …]`: trains a run file from scratch
 * once per mode and seed, one after the other, and writes each run's record (commit, machine, outcome of every validation instance,
 * a line per step) to `bench/results/learning/`. `report.ts` reads them.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machine } from "../machine.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seeds: { type: "string", default: "0,1,2" }, modes: { type: "string", default: "async" } },
});
const [name, ...overrides] = positionals;
if (name === undefined) {
  console.error("name a run file, e.g. quickstart");
  process.exit(2);
}

const folder = join(import.meta.dirname, "..", "results", "learning");
mkdirSync(folder, { recursive: true });
const rows = (file: string): readonly Record<string, number>[] =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

/** What of a step is kept; the run's own metrics.jsonl holds everything. */
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
  "tokens/generated_per_second",
  "tokens/trained_per_second",
  "timing_s/step",
  "timing_s/update",
  "timing_s/total",
] as const;

for (const seed of values.seeds.split(",").map(Number)) {
  for (const mode of values.modes.split(",")) {
    const scratch = mkdtempSync(join(tmpdir(), "millrace-learning-"));
    const changes = [...overrides, `run.seed=${seed}`, `pipeline.mode=${mode}`];
    const begun = performance.now();
    const { status } = spawnSync(
      process.execPath,
      [
        join(import.meta.dirname, "..", "..", "pipelines", "cli.ts"),
        ...["train", "--config-name", name, ...changes, "run.name=run", `run.dir=${scratch}`, "metrics.console=plain"],
      ],
      { stdio: ["ignore", "inherit", "inherit"] },
    );
    if (status !== 0) process.exit(status ?? 1);
    const seconds = (performance.now() - begun) / 1000;
    const run = join(scratch, "run", readdirSync(join(scratch, "run"))[0]!);
    const steps = rows(join(run, "metrics.jsonl")).map((row) =>
      Object.fromEntries(kept.flatMap((key) => (key in row ? [[key, Number(row[key]!.toPrecision(5))]] : []))),
    );
    const record = {
      name,
      mode,
      seed,
      overrides,
      machine: machine(),
      /** Wall-clock of the whole command: start, training, both validations, checkpoint. */
      seconds: Math.round(seconds),
      validations: readFileSync(join(run, "validations.jsonl"), "utf8")
        .trim()
        .split("\n")
        .map((line) => {
          const { step, version, success } = JSON.parse(line);
          return { step, version, success: success.join("") };
        }),
      steps,
    };
    const file = join(folder, `${name}-${mode}-seed${seed}.json`);
    writeFileSync(file, `${JSON.stringify(record)}\n`);
    console.log(`${file}: ${Math.round(seconds)} s`);
  }
}
