/**
 * Finds the folders of runs below a folder: a run's folder has a config.yaml, and no other run lies in it. The newest of some runs is the last by
 * its name, a time stamp. One that did not begin, of which a killed process left nothing but its configuration, is never the newest.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CLONING } from "./CloningRecord.ts";
import { hasWriter, LOCK } from "./RunLock.ts";

export const CONFIG = "config.yaml";
const CHECKPOINTS = "checkpoints";
/** What is written before a run begins. */
const EARLY = [CONFIG, CHECKPOINTS, CLONING];

export const isRunFolder = (folder: string): boolean => existsSync(join(folder, CONFIG));

/** Names in a folder, those of folders alone where `folders` is set; none where it cannot be read. */
const namesIn = (folder: string, folders: boolean): readonly string[] => {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => !folders || !entry.isFile()).map(({ name }) => name);
  } catch {
    return [];
  }
};

/** Time stamps of one second have `-2` and so on behind them: numbers are compared as such. */
export const compareNames = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true });

/** The runs right in a folder, the oldest first. */
export const runsIn = (folder: string): readonly string[] =>
  namesIn(folder, true)
    .filter((name) => isRunFolder(join(folder, name)))
    .sort(compareNames)
    .map((name) => join(folder, name));

/** Folders right in a folder, without hidden ones and those of packages. Links are none: one may lead out of it, or in a circle. */
const foldersIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith("."))
      .map(({ name }) => name);
  } catch {
    return [];
  }
};

/** Levels of folders that are searched: a folder of runs holds names or sweeps, a sweep holds names, these hold times. */
const deepest = 4;

/** The runs in a folder and in those below it, itself included; by name, the oldest of one name first. */
export const runsBelow = (folder: string, levels: number = deepest): readonly string[] => {
  if (isRunFolder(folder)) return [folder];
  if (levels === 0) return [];
  return foldersIn(folder)
    .toSorted(compareNames)
    .flatMap((name) => runsBelow(join(folder, name), levels - 1));
};

/** Whether the folder has more than what is written before a run begins. */
const hasBegun = (folder: string): boolean =>
  namesIn(folder, false).some((name) => !EARLY.includes(name) && !name.startsWith(LOCK)) ||
  namesIn(join(folder, CHECKPOINTS), false).length > 0;

/** The newest run right in a folder that has begun or is about to; where all were killed before, the newest of these. */
export const newestRunIn = async (folder: string): Promise<string | undefined> => {
  const runs = runsIn(folder);
  for (const run of runs.toReversed()) if (hasBegun(run) || (await hasWriter(run))) return run;
  return runs.at(-1);
};
