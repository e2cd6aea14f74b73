/**
 * Writes files and folders so that a reader sees the old one or the new one, never a part: each is written under a `.partial` name beside its
 * own, flushed, and renamed. An interrupted write leaves a `.partial` entry that the next write of that path replaces.
 */

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

/**
 * Replaces the folder at `path` with the one `fill` writes under the name it is given. An existing folder is moved aside first and
 * removed last, so that at every moment one whole folder is there, under `path` or `path.replaced`.
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
  const publish = Effect.gen(function* () {
    yield* remove(replaced);
    yield* attempt(path, () => rename(path, replaced)).pipe(
      Effect.catchIf(
        (error) => error.reason === "missing",
        () => Effect.void,
      ),
    );
    yield* attempt(path, () => rename(partial, path));
    yield* remove(replaced);
  });
  return prepare.pipe(
    Effect.andThen(fill(partial)),
    Effect.andThen(Effect.uninterruptible(publish)),
    Effect.onError(() => Effect.ignore(remove(partial))),
  );
};
