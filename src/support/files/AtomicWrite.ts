/**
 * Writes files and folders so that a reader sees the old or the new one, never a part. Each is written under a `.partial` name
 * beside its own, flushed, and renamed. An interrupted write leaves a `.partial` that the next write of that path replaces.
 */

import { existsSync } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { Effect } from "effect";
import { type FileError, fileError } from "./FileError.ts";

const attempt = <A>(path: string, work: () => Promise<A>): Effect.Effect<A, FileError> =>
  Effect.tryPromise({ try: work, catch: (cause) => fileError(path, cause) });

/** Replaces the file at `path` with the output of `fill`, and makes missing parent folders. */
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
  // The write is not interruptible, because the file system would go on behind the clean-up.
  return Effect.onError(Effect.uninterruptible(write), () =>
    Effect.ignore(attempt(partial, () => rm(partial, { force: true }))),
  );
};

export const replaceText = (path: string, text: string): Effect.Effect<void, FileError> =>
  replaceFile(path, async (file) => {
    await file.writeFile(text);
  });

/** Flushes the names in a folder, if the system can, so that renames keep their order after a loss of power. */
const flushNames = async (folder: string): Promise<void> => {
  const handle = await open(folder, "r").catch(() => null);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
};

/**
 * Replaces the folder at `path` with the one that `fill` writes under a temporary name. An existing folder is moved aside first and
 * removed last. A kill or a loss of power leaves one of these states, in the order of the steps:
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
      // The old backup goes only now: without `path`, it is the good folder until the new one has its name.
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
