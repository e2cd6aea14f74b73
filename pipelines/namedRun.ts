/**
 * Resolves names of runs for every command. A run is named by its folder or by `runs/NAME`, its newest; `@STEP` behind
 * either names a step. In place of a model, a run stands for its checkpoint of that step, or its newest. A word that
 * names no run, or several, is bad input with the nearest name.
 */
import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Effect, Result } from "effect";
import { showText, showValue } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { compareNames, isRunFolder, newestRunIn, runsBelow } from "../src/observe/record/RunFolders.ts";
import * as StepFolders from "../src/support/files/StepFolders.ts";
import { choices } from "../src/support/text/nearest.ts";
import { asTyped, existingFolder, modelFolder } from "./paths.ts";

/** The usual folder of runs. */
const runsFolder = "runs";

/** The names of runs in a folder and below it; the name with the newest run comes first. */
const namesBelow = (folder: string): readonly string[] => {
  const newestFirst = runsBelow(folder).toSorted((a, b) => compareNames(basename(b), basename(a)));
  return [...new Set(newestFirst.map(dirname))];
};

/** Why a folder in which no run lies right away names none, with the names among which a user may choose. */
const whyNoRun = (folder: string): string => {
  const [nearest, ...others] = namesBelow(folder).map(asTyped);
  if (nearest === undefined) return "no run's folder, and no run lies in it: there is no config.yaml";
  if (others.length === 0) return `no run's folder; nearest: ${showText(nearest, 200)}`;
  return `several runs; nearest: ${showText(nearest, 200)}; all: ${choices(nearest, [nearest, ...others])}`;
};

/** A name that was written without its folder. */
const insideRunsFolder = (word: string): string | null =>
  /[/\\]/.test(word) || !existsSync(resolve(runsFolder, word)) ? null : join(runsFolder, word);

/** Returns the error for a name that was written without its folder; null where the word is no such name. */
const missingFolderName = (key: string, word: string): BadInput | null => {
  const inside = insideRunsFolder(word);
  return inside === null
    ? null
    : new BadInput({ message: `${key}: ${showValue(word)}: no such folder; nearest: ${inside}` });
};

/** The absolute path of the run that `word`, the value of `key`, names. */
export const namedRun = (key: string, word: string): Effect.Effect<string, BadInput> =>
  Effect.gen(function* () {
    const found = yield* Effect.result(existingFolder(key, word));
    if (Result.isFailure(found)) {
      return yield* missingFolderName(key, word) ?? found.failure;
    }
    const folder = found.success;
    if (isRunFolder(folder)) return folder;
    const newest = yield* Effect.promise(() => newestRunIn(folder));
    if (newest !== undefined) return newest;
    return yield* new BadInput({ message: `${key}: ${showValue(word)}: ${whyNoRun(folder)}` });
  });

/** `RUN@STEP`, apart. `at` is a number of steps, or the name of a link among checkpoints; null where there is none. */
export const splitStep = (word: string): { readonly run: string; readonly at: string | null } => {
  const [, run = word, at] = /^(.+)@(\d{1,9}|best)$/.exec(word) ?? [];
  return existsSync(resolve(word)) ? { run: word, at: null } : { run, at: at ?? null };
};

/** The checkpoint of a run at a step, at its best validation (`best`), or its newest. */
const checkpointOf = Effect.fnUntraced(function* (key: string, word: string, run: string, at: string | null) {
  const folder = join(run, "checkpoints");
  const steps = yield* Effect.catchTag(StepFolders.list(folder), "FileError", () => Effect.succeed([]));
  const name = at === null ? `step-${steps.at(-1)}` : at === "best" ? at : `step-${at}`;
  const path = join(folder, name);
  if (existsSync(path)) return path;
  const target = at === null || at === "best" ? Number.POSITIVE_INFINITY : Number(at);
  const nearest = steps.toSorted((a, b) => Math.abs(a - target) - Math.abs(b - target) || b - a)[0];
  const what = at === null ? "no checkpoint" : `no checkpoint ${at}`;
  const hint = nearest === undefined ? "" : `; nearest: ${asTyped(run)}@${nearest}`;
  return yield* new BadInput({ message: `${key}: ${showValue(word)}: ${asTyped(run)} has ${what}${hint}` });
});

/** True for the folder of a model or of an adapter. */
const isModel = (folder: string): boolean =>
  ["config.json", "adapter_config.json"].some((name) => existsSync(join(folder, name)));

/** True for a folder that is a run or holds runs, and is no model: it stands for a checkpoint. */
const holdsRuns = (folder: string): boolean => !isModel(folder) && runsBelow(folder).length > 0;

/** A folder of weights, and the run that they are a checkpoint of; null for a model's own folder. */
export interface NamedPolicy {
  readonly path: string;
  readonly run: string | null;
}

/** The run that a folder is a checkpoint of, or null. */
const runOfCheckpoint = (folder: string): string | null => {
  const checkpoints = dirname(folder);
  const run = dirname(checkpoints);
  return basename(checkpoints) === "checkpoints" && isRunFolder(run) ? run : null;
};

/** Finds the model that `key` names: its folder, one of the Hugging Face hub that is on this machine, or a run, whose checkpoint is taken. */
export const namedPolicy = (key: string, word: string): Effect.Effect<NamedPolicy, BadInput> =>
  Effect.gen(function* () {
    const { at, run: name } = splitStep(word);
    if (at === null) {
      const folder = yield* Effect.mapError(modelFolder(key, word), (error) => missingFolderName(key, word) ?? error);
      if (!holdsRuns(folder)) return { path: folder, run: runOfCheckpoint(folder) };
    }
    const run = yield* namedRun(key, name);
    return { path: yield* checkpointOf(key, word, run, at), run };
  });

/** The absolute path of a model that `key` names, as `namedPolicy` finds it. */
export const namedModel = (key: string, word: string): Effect.Effect<string, BadInput> =>
  Effect.map(namedPolicy(key, word), ({ path }) => path);
