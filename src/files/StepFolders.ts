/**
 * Folders named `step-N` inside one folder, as checkpoints are kept. Only whole ones are listed: what `replaceFolder` has not finished has
 * another name, and is removed with the old ones.
 */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Effect } from "effect";
import { type FileError, fileError } from "./FileError.ts";

const attempt = <A>(path: string, work: () => Promise<A>): Effect.Effect<A, FileError> =>
  Effect.tryPromise({ try: work, catch: (cause) => fileError(path, cause) });

const names = (folder: string): Effect.Effect<readonly string[], FileError> => attempt(folder, () => readdir(folder));

export const path = (folder: string, step: number): string => join(folder, `step-${step}`);

/** Steps that have a whole folder, ascending. */
export const list = (folder: string): Effect.Effect<readonly number[], FileError> =>
  Effect.map(names(folder), (all) =>
    all.flatMap((name) => (/^step-\d+$/.test(name) ? [Number(name.slice("step-".length))] : [])).sort((a, b) => a - b),
  );

/** Removes all but the `count` folders of the latest steps, and those that a killed process left half-written. */
export const keepLatest = Effect.fnUntraced(function* (
  folder: string,
  count: number,
): Effect.fn.Return<void, FileError> {
  const halves = (yield* names(folder)).filter((name) => name.endsWith(".partial")).map((name) => join(folder, name));
  const steps = yield* list(folder);
  const old = steps.slice(0, Math.max(0, steps.length - count)).map((step) => path(folder, step));
  for (const unwanted of [...halves, ...old]) {
    yield* attempt(unwanted, () => rm(unwanted, { recursive: true, force: true }));
  }
});
