/**
 * Runs one training by the command line, in a temporary folder, and writes its record. The folder is removed then; that of a run that fails
 * is left to be looked at.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Effect } from "effect";
import * as StepFolders from "../../src/support/files/StepFolders.ts";
import { record } from "./record.ts";

const bin = join(import.meta.dirname, "..", "..", "pipelines", "millrace.mjs");

/** The folder of the only run inside `dir`, `<name>/<stamp>/`. */
const runIn = (dir: string): string => {
  const [name] = readdirSync(dir);
  const [stamp] = name === undefined ? [] : readdirSync(join(dir, name));
  if (name === undefined || stamp === undefined) throw new Error(`${dir} holds no run`);
  return join(dir, name, stamp);
};

/** Copies the run's last checkpoint to `to`. */
const keepCheckpoint = async (run: string, to: string): Promise<void> => {
  const checkpoints = join(run, "checkpoints");
  const last = (await Effect.runPromise(StepFolders.list(checkpoints))).at(-1);
  if (last === undefined) throw new Error(`${run} wrote no checkpoint to keep`);
  cpSync(StepFolders.path(checkpoints, last), to, { recursive: true });
  console.log(to);
};

/**
 * Trains a run file under the overrides, and prints where `write` puts its record. Throws when the run fails. Where `keep` is a folder,
 * the run's last checkpoint is copied there, under the record's name.
 */
export const train = async (
  runFile: string,
  overrides: readonly string[],
  { keep, write = record }: { readonly keep?: string; readonly write?: (run: string) => string } = {},
): Promise<void> => {
  const dir = mkdtempSync(join(tmpdir(), "millrace-learning-"));
  const { status } = spawnSync(
    process.execPath,
    [bin, "train", "--config-name", runFile, ...overrides, `run.dir=${dir}`, "metrics.console=plain"],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  if (status !== 0) throw new Error(`the run failed with ${status}; its folder is ${dir}`);
  const run = runIn(dir);
  const kept = write(run);
  console.log(kept);
  if (keep !== undefined) await keepCheckpoint(run, join(keep, basename(kept, ".json")));
  rmSync(dir, { recursive: true, force: true });
};
