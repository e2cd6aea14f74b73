/**
 * Folders named `step-N` inside one folder, as checkpoints are kept. What `replaceFolder` has not finished has another name: a `.partial` is
 * never read, a `.replaced` may be the good one of its step. What cannot be loaded is kept as `.damaged`, which nothing reads.
 */
import { existsSync } from "node:fs";
import { readdir, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { Effect } from "effect";
import { type FileError, fileError } from "./FileError.ts";

const attempt = <A>(path: string, work: () => Promise<A>): Effect.Effect<A, FileError> =>
  Effect.tryPromise({ try: work, catch: (cause) => fileError(path, cause) });

const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

const foldersIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { withFileTypes: true })).filter((entry) => !entry.isFile()).map(({ name }) => name);

export const path = (folder: string, step: number): string => join(folder, `step-${step}`);

/** A folder of a step: its own, or the one that was moved aside while it was replaced. */
export interface Candidate {
  readonly step: number;
  readonly path: string;
}

const REPLACED = ".replaced";
const isReplaced = ({ path }: Candidate): boolean => path.endsWith(REPLACED);

const candidateOf = (folder: string, name: string): readonly Candidate[] => {
  const digits = /^step-(0|[1-9]\d{0,14})(?:\.replaced)?$/.exec(name)?.[1];
  return digits === undefined ? [] : [{ step: Number(digits), path: join(folder, name) }];
};

/** All that may be whole, the newest first; what was moved aside comes after its step's own. */
export const candidates = (folder: string): Effect.Effect<readonly Candidate[], FileError> =>
  Effect.map(
    attempt(folder, () => foldersIn(folder)),
    (names) =>
      names
        .flatMap((name) => candidateOf(folder, name))
        .sort((a, b) => b.step - a.step || Number(isReplaced(a)) - Number(isReplaced(b))),
  );

/** Steps that have a folder of their own, ascending. */
export const list = (folder: string): Effect.Effect<readonly number[], FileError> =>
  Effect.map(candidates(folder), (all) =>
    all
      .filter((candidate) => !isReplaced(candidate))
      .map(({ step }) => step)
      .reverse(),
  );

/**
 * Makes `good` the newest of the folder, once it has loaded: those that did not are set aside as `.damaged`, those that were moved aside are
 * moved back where their step has no other, and what is half-written is removed. Stopped at any point, it can be done again.
 */
export const cleanUp = (
  folder: string,
  good: Candidate,
  damaged: readonly Candidate[],
): Effect.Effect<void, FileError> =>
  attempt(folder, async () => {
    for (const { path } of damaged) {
      await remove(`${path}.damaged`);
      await rename(path, `${path}.damaged`);
    }
    for (const name of await foldersIn(folder)) {
      const at = join(folder, name);
      const [candidate] = candidateOf(folder, name);
      if (name.endsWith(".partial")) await remove(at);
      if (candidate === undefined || !isReplaced(candidate)) continue;
      const own = path(folder, candidate.step);
      if (existsSync(own)) await remove(at);
      else await rename(at, own);
    }
    if (!existsSync(path(folder, good.step))) throw new Error(`step-${good.step} went away while it was loaded`);
  });

/**
 * Makes `name` in the folder a link to a step's folder, or removes it where `step` is null or has none. A reader finds the old link or the new one; one
 * that a killed process left half-made is a `.partial`, as anything else.
 */
export const setLink = (folder: string, name: string, step: number | null): Effect.Effect<void, FileError> => {
  const link = join(folder, name);
  return attempt(link, async () => {
    if (step === null || !existsSync(path(folder, step))) return rm(link, { force: true });
    const partial = `${link}.partial`;
    await rm(partial, { force: true });
    await symlink(`step-${step}`, partial);
    await rename(partial, link);
  });
};

/** Removes all but the `count` folders of the latest steps and that of `also`, and those that a killed process left half-written. */
export const keepLatest = Effect.fnUntraced(function* (
  folder: string,
  count: number,
  also: number | null = null,
): Effect.fn.Return<void, FileError> {
  const steps = yield* list(folder);
  yield* attempt(folder, async () => {
    // Renamed first: of a folder that is being removed no part is ever taken for a whole one.
    for (const step of steps.slice(0, Math.max(0, steps.length - count)).filter((step) => step !== also)) {
      const old = path(folder, step);
      await remove(`${old}.partial`);
      await rename(old, `${old}.partial`);
    }
    for (const name of await foldersIn(folder)) if (name.endsWith(".partial")) await remove(join(folder, name));
  });
});
