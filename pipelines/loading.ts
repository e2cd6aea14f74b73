/** Says that weights are being read, where they are so large that a user would wonder why nothing happens. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Console, Effect } from "effect";
import { asTyped } from "./paths.ts";

/** Bytes of weights that are read within a second or two on a slow machine. */
const QUICK = 100_000_000;

/** Bytes of the weights in a folder; 0 where it cannot be read. Links are followed: the hub's cache is made of them. */
const weightBytes = async (folder: string): Promise<number> => {
  const names = await readdir(folder).catch(() => []);
  const sizes = names
    .filter((name) => name.endsWith(".safetensors"))
    .map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
};

/** Prints which model is about to be loaded, where it is large. */
export const tellLoading = Effect.fnUntraced(function* (folder: string) {
  const bytes = yield* Effect.promise(() => weightBytes(folder));
  if (bytes < QUICK) return;
  yield* Console.log(`loading ${asTyped(folder)}: ${Math.round(bytes / 1e6)} MB of weights`);
});
