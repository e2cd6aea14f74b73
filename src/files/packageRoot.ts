/**
 * Where this package lies, which version it is, and which modules it makes public. The root is the folder of the package.json named
 * "millrace", sought upwards from this file, because the sources lie one folder higher than the JavaScript built from them.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  /** By public name (`.`, `./env`): the built file. */
  readonly exports?: Readonly<Record<string, string | { readonly default: string }>>;
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

/** Whether the sources run, and not the JavaScript built from them. */
const fromSources = import.meta.url.endsWith(".ts");

/**
 * The module that `millrace` or `millrace/env` means, as a URL: the built file that package.json names, or, where the sources run, the
 * source it is built from. Null for a name that is not public.
 */
export const publicModule = (specifier: string): string | null => {
  const name = /^millrace(\/.*)?$/.exec(specifier);
  const entry = name === null ? undefined : manifest.exports?.[`.${name[1] ?? ""}`];
  if (entry === undefined || typeof entry === "string") return null;
  const file = fromSources ? entry.default.replace("./dist/", "./").replace(/\.js$/, ".ts") : entry.default;
  return pathToFileURL(join(packageRoot, file)).href;
};
