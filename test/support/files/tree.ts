/** A folder with all below it as values, so that two moments of it can be compared byte by byte. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";

/** Each path with the hash of its contents; a folder's is null. */
export const treeOf = (root: string): Readonly<Record<string, string | null>> => {
  const paths = readdirSync(root, { recursive: true, withFileTypes: true }).map((entry) =>
    relative(root, join(entry.parentPath, entry.name)),
  );
  const hashOf = (path: string): string | null =>
    statSync(path).isDirectory() ? null : createHash("sha256").update(readFileSync(path)).digest("hex");
  return Object.fromEntries(paths.sort().map((path) => [path, hashOf(join(root, path))]));
};
