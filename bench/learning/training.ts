/** Runs one training by the command line, in its own folder, and writes its record. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { record } from "./record.ts";

const cli = join(import.meta.dirname, "..", "..", "pipelines", "cli.ts");

/** Trains a run file under the overrides and prints where its record is; ends the process when the run fails. */
export const train = (runFile: string, overrides: readonly string[]): void => {
  const dir = mkdtempSync(join(tmpdir(), "millrace-learning-"));
  const { status } = spawnSync(
    process.execPath,
    [cli, "train", "--config-name", runFile, ...overrides, `run.dir=${dir}`, "metrics.console=plain"],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  if (status !== 0) process.exit(status ?? 1);
  const [name] = readdirSync(dir);
  const [stamp] = readdirSync(join(dir, name!));
  console.log(record(join(dir, name!, stamp!)));
};
