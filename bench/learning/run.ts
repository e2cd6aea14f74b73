/**
 * `node bench/learning/run.ts RUN_FILE [--seeds 0,1,2] [--modes async,sync,lockstep] [key.sub=value …]`: trains a run file from scratch
 * once per mode and seed, one after the other, and keeps each run's record (`record.ts`).
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { record } from "./record.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seeds: { type: "string", default: "0,1,2" }, modes: { type: "string", default: "async" } },
});
const [file, ...overrides] = positionals;
if (file === undefined) {
  console.error("name a run file, e.g. quickstart");
  process.exit(2);
}

const cli = join(import.meta.dirname, "..", "..", "pipelines", "cli.ts");
for (const seed of values.seeds.split(",")) {
  for (const mode of values.modes.split(",")) {
    const dir = mkdtempSync(join(tmpdir(), "millrace-learning-"));
    const changes = [
      ...overrides,
      `run.seed=${seed}`,
      `pipeline.mode=${mode}`,
      `run.dir=${dir}`,
      "metrics.console=plain",
    ];
    const { status } = spawnSync(process.execPath, [cli, "train", "--config-name", file, ...changes], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    if (status !== 0) process.exit(status ?? 1);
    const [name] = readdirSync(dir);
    const [stamp] = readdirSync(join(dir, name!));
    console.log(record(join(dir, name!, stamp!)));
  }
}
