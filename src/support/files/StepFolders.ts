/**
 * Folders named `step-N` inside one folder, such as checkpoints. An unfinished `replaceFolder` leaves other names: a `.partial`
 * is never read, and a `.replaced` may be the good folder of its step. A folder that cannot be loaded becomes `.damaged`, which
 * nothing reads.
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

/** A folder of a step: its proper one, or the one moved aside while it was replaced. */
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

/** All folders that may be whole, the newest first. A folder moved aside comes after the proper one of its step. */
export const candidates = (folder: string): Effect.Effect<readonly Candidate[], FileError> =>
  Effect.map(
    attempt(folder, () => foldersIn(folder)),
    (names) =>
      names
        .flatMap((name) => candidateOf(folder, name))
        .sort((a, b) => b.step - a.step || Number(isReplaced(a)) - Number(isReplaced(b))),
  );

/** Steps that have a proper folder, ascending. */
export const list = (folder: string): Effect.Effect<readonly number[], FileError> =>
  Effect.map(candidates(folder), (all) =>
    all
      .filter((candidate) => !isReplaced(candidate))
      .map(({ step }) => step)
      .reverse(),
  );

/**
 * Makes `good` the newest of the folder, once it has loaded. Damaged folders become `.damaged`, folders moved aside get their
 * names back if no other has it, and unfinished ones are removed. It can be repeated after a stop at any point.
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
      const properPath = path(folder, candidate.step);
      if (existsSync(properPath)) await remove(at);
      else await rename(at, properPath);
    }
    if (!existsSync(path(folder, good.step))) throw new Error(`step-${good.step} went away while it was loaded`);
  });

/**
 * Points the link `name` at a step's folder, or removes it if `step` is null or has no folder. A reader finds the old link or the
 * new one. A killed process may leave a `.partial` link.
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

/** Removes all folders but the latest `count` and that of `also`, and those that a killed process left unfinished. */
export const keepLatest = Effect.fnUntraced(function* (
  folder: string,
  count: number,
  also: number | null = null,
): Effect.fn.Return<void, FileError> {
  const steps = yield* list(folder);
  yield* attempt(folder, async () => {
    // Each folder is renamed first, so that a half-removed folder never counts as whole.
    for (const step of steps.slice(0, Math.max(0, steps.length - count)).filter((step) => step !== also)) {
      const old = path(folder, step);
      await remove(`${old}.partial`);
      await rename(old, `${old}.partial`);
    }
    for (const name of await foldersIn(folder)) if (name.endsWith(".partial")) await remove(join(folder, name));
  });
});
