/**
 * The path and version of this package. The root is the nearest folder above this file whose package.json is named "millrace":
 * the built JavaScript lies one folder deeper than the sources.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

interface Manifest {
  readonly name?: string;
  readonly version?: string;
}

const manifestOf = (folder: string): Manifest => {
  const file = join(folder, "package.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
};

const rootAbove = (folder: string): string => {
  if (manifestOf(folder).name === "millrace") return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error("no package.json of millrace above its own files");
  return rootAbove(parent);
};

/** Absolute path of the package's folder. */
export const packageRoot: string = rootAbove(dirname(fileURLToPath(import.meta.url)));

const manifest = manifestOf(packageRoot);

export const version: string = manifest.version ?? "unknown";
