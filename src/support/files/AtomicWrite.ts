/**
 * Writes files and folders so that a reader sees the old one or the new one, never a part: each is written under a `.partial` name beside its
 * own, flushed, and renamed. An interrupted write leaves a `.partial` entry that the next write of that path replaces.
 */

import { existsSync } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { Effect } from "effect";
import { type FileError, fileError } from "./FileError.ts";

const attempt = <A>(path: string, work: () => Promise<A>): Effect.Effect<A, FileError> =>
  Effect.tryPromise({ try: work, catch: (cause) => fileError(path, cause) });

/** Replaces the file at `path` with what `fill` writes; missing parent folders are made. */
export const replaceFile = (
  path: string,
  fill: (file: FileHandle) => Promise<void>,
): Effect.Effect<void, FileError> => {
  const partial = `${path}.partial`;
  const write = attempt(path, async () => {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(partial, "w");
    try {
      await fill(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, path);
  });
  // Not interruptible: the file system would go on behind the clean-up.
  return Effect.onError(Effect.uninterruptible(write), () =>
    Effect.ignore(attempt(partial, () => rm(partial, { force: true }))),
  );
};

/** Replaces the file at `path` with `text`. */
export const replaceText = (path: string, text: string): Effect.Effect<void, FileError> =>
  replaceFile(path, async (file) => {
    await file.writeFile(text);
  });

/** Flushes the names in a folder, where the system can: renames are in the order they were made after a loss of power, too. */
const flushNames = async (folder: string): Promise<void> => {
  const handle = await open(folder, "r").catch(() => null);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
};

/**
 * Replaces the folder at `path` with the one `fill` writes under the name it is given. An existing folder is moved aside first and
 * removed last. What a kill or a loss of power leaves, in the order of the steps:
 *
 * | `path` | `.partial` | `.replaced` | the good one |
 * |---|---|---|---|
 * | old or none | none, or a part | – | `path` |
 * | – | whole | old | `.replaced` |
 * | new | – | old or a part | `path` |
 */
export const replaceFolder = <E, R>(
  path: string,
  fill: (partial: string) => Effect.Effect<void, E, R>,
): Effect.Effect<void, E | FileError, R> => {
  const partial = `${path}.partial`;
  const replaced = `${path}.replaced`;
  const remove = (folder: string) => attempt(folder, () => rm(folder, { recursive: true, force: true }));
  const prepare = Effect.andThen(
    remove(partial),
    attempt(partial, () => mkdir(partial, { recursive: true })),
  );
  const publish = attempt(path, async () => {
    await flushNames(partial);
    const moved = existsSync(path);
    if (moved) {
      // Only now: without `path`, an earlier `.replaced` is the good one until this one has its name.
      await rm(replaced, { recursive: true, force: true });
      await rename(path, replaced);
    }
    await rename(partial, path).catch(async (cause: unknown) => {
      if (moved) await rename(replaced, path);
      throw cause;
    });
    await flushNames(dirname(path));
  });
  return prepare.pipe(
    Effect.andThen(fill(partial)),
    Effect.andThen(Effect.uninterruptible(Effect.andThen(publish, remove(replaced)))),
    Effect.onError(() => Effect.ignore(remove(partial))),
  );
};
