/**
 * Finds the folders of runs below a folder: a run's folder has a config.yaml and contains no other run. Names are time stamps, so
 * the newest run is the last by name. A run that was killed before it began has only its configuration, and is never the newest.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CLONING } from "./CloningRecord.ts";
import { hasWriter, LOCK } from "./RunLock.ts";

export const CONFIG = "config.yaml";
const CHECKPOINTS = "checkpoints";
/** The files and folders that are written before a run begins. */
const EARLY = [CONFIG, CHECKPOINTS, CLONING];

export const isRunFolder = (folder: string): boolean => existsSync(join(folder, CONFIG));

/** Names in a folder, or only those of folders; none if it cannot be read. */
const namesIn = (folder: string, folders: boolean): readonly string[] => {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => !folders || !entry.isFile()).map(({ name }) => name);
  } catch {
    return [];
  }
};

/** Orders names. Later runs of one second end in `-2` and so on, so numbers are compared as numbers. */
export const compareNames = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true });

/** The runs directly in a folder, the oldest first. */
export const runsIn = (folder: string): readonly string[] =>
  namesIn(folder, true)
    .filter((name) => isRunFolder(join(folder, name)))
    .sort(compareNames)
    .map((name) => join(folder, name));

/**
 * Folders directly in a folder, except hidden ones and packages. Links are left out: one may lead out of the folder, or in a
 * circle.
 */
const foldersIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith("."))
      .map(({ name }) => name);
  } catch {
    return [];
  }
};

/**
 * Levels of folders that a search goes down: a folder of runs holds names or sweeps, a sweep holds names, a name holds times.
 */
const deepest = 4;

/** The runs in a folder and below it, including the folder itself; by name, and the oldest of one name first. */
export const runsBelow = (folder: string, levels: number = deepest): readonly string[] => {
  if (isRunFolder(folder)) return [folder];
  if (levels === 0) return [];
  return foldersIn(folder)
    .toSorted(compareNames)
    .flatMap((name) => runsBelow(join(folder, name), levels - 1));
};

const hasBegun = (folder: string): boolean =>
  namesIn(folder, false).some((name) => !EARLY.includes(name) && !name.startsWith(LOCK)) ||
  namesIn(join(folder, CHECKPOINTS), false).length > 0;

/**
 * The newest run directly in a folder that has begun or is about to. If all runs were killed before they began, it is the newest
 * of these.
 */
export const newestRunIn = async (folder: string): Promise<string | undefined> => {
  const runs = runsIn(folder);
  for (const run of runs.toReversed()) if (hasBegun(run) || (await hasWriter(run))) return run;
  return runs.at(-1);
};
