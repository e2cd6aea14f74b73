/**
 * A folder of this process in the system's temporary directory, for its user alone. It names its process, so that the next
 * process removes the folders of killed ones. Invariant: a folder is removed only if it belongs to this user and its process has
 * ended.
 */
import { chmod, lstat, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { DateTime, Effect, type Scope } from "effect";
import { currentOwner, type Owner, ownerStatus, parseOwner } from "./Owner.ts";

const PREFIX = "millrace-";
const OWNER = "owner.json";

/** The path of a future folder for `purpose`, with XXXXXX for its six random characters. */
export const temporaryPath = (purpose: string, parent: string = tmpdir()): string =>
  join(parent, `${PREFIX}${purpose}-XXXXXX`);

const isAbandoned = async (folder: string, here: Owner): Promise<boolean> => {
  const entry = await lstat(folder);
  const isForeign = process.getuid !== undefined && entry.uid !== process.getuid();
  if (isForeign || !entry.isDirectory()) return false;
  const owner = parseOwner(await readFile(join(folder, OWNER), "utf8"));
  return owner !== null && (await ownerStatus(owner, here)) === "ended";
};

const removeAbandoned = async (parent: string, here: Owner): Promise<void> => {
  const names = (await readdir(parent)).filter((name) => name.startsWith(PREFIX));
  await Promise.all(
    names.map(async (name) => {
      const folder = join(parent, name);
      // A folder without a readable owner, or one that another process is removing, is left alone.
      if (await isAbandoned(folder, here).catch(() => false)) await rm(folder, { recursive: true, force: true });
    }),
  );
};

/**
 * Makes the folder `millrace-PURPOSE-XXXXXX`, and removes those that killed processes left beside it. Rejects if it cannot be
 * made.
 */
export const makeTemporaryFolder = async (purpose: string, parent: string = tmpdir()): Promise<string> => {
  const here = await currentOwner(DateTime.formatIso(DateTime.nowUnsafe()));
  await removeAbandoned(parent, here).catch(() => undefined);
  const folder = await mkdtemp(join(parent, `${PREFIX}${purpose}-`));
  await chmod(folder, 0o700);
  await writeFile(join(folder, OWNER), JSON.stringify(here), { mode: 0o600 });
  return folder;
};

/** A temporary folder that is removed when the scope closes. */
export const temporaryFolder = (purpose: string, parent?: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => makeTemporaryFolder(purpose, parent)),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
  );
