/**
 * The import graph of the source tree, read from the text of the files: static, type-only, side-effect and dynamic imports, re-exports,
 * and the worker files that a `new URL(…, import.meta.url)` starts. Paths are relative to the package root.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix, relative } from "node:path";

export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const root = new URL("..", import.meta.url).pathname;

export const readSources = (...folders: readonly string[]): readonly SourceFile[] =>
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((file) => ({
        path: relative(root, file).split("\\").join("/"),
        text: readFileSync(file, "utf8"),
      })),
  );

const clause = String.raw`(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\}|\w+(?:\s*,\s*(?:\{[^}]*\}|\*\s+as\s+\w+))?)`;
const patterns = [
  new RegExp(String.raw`^[ \t]*(?:import|export)\s+${clause}\s+from\s+"([^"]+)"`, "gm"),
  /^[ \t]*import\s+"([^"]+)"/gm,
  /\bimport\(\s*"([^"]+)"\s*\)/g,
  /new URL\(\s*"(\.[^"]+\.ts)",\s*import\.meta\.url\s*\)/g,
];

/** The specifiers that a file imports, as written. */
export const specifiers = (text: string): readonly string[] => [
  ...new Set(patterns.flatMap((pattern) => [...text.matchAll(pattern)].flatMap(([, specifier = ""]) => [specifier]))),
];

export interface Imports {
  readonly path: string;
  /** Files of this package. */
  readonly files: readonly string[];
  /** Packages and `node:` builtins, without subpaths. */
  readonly packages: readonly string[];
}

const packageOf = (specifier: string): string =>
  specifier.startsWith("node:")
    ? specifier
    : specifier
        .split("/")
        .slice(0, specifier.startsWith("@") ? 2 : 1)
        .join("/");

export const importsOf = ({ path, text }: SourceFile): Imports => {
  const all = specifiers(text);
  const relatives = all.filter((specifier) => specifier.startsWith("."));
  return {
    path,
    files: relatives.map((specifier) => posix.normalize(posix.join(posix.dirname(path), specifier))),
    packages: all.filter((specifier) => !specifier.startsWith(".")).map(packageOf),
  };
};

/** The import cycles of a graph, each as the files on it, found depth first. */
export const cycles = (graph: readonly Imports[]): readonly (readonly string[])[] => {
  const edges = new Map(graph.map(({ files, path }) => [path, files]));
  const done = new Set<string>();
  const found: (readonly string[])[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) found.push([...trail.slice(start), path]);
    if (start >= 0 || done.has(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const { path } of graph) visit(path, []);
  return found;
};

/**
 * Imports between folders that lie side by side, at every depth below `root`: an import counts for the two folders in which the paths of
 * its ends first differ. A file counts for no folder where its path ends.
 */
export const betweenFolders = (graph: readonly Imports[], root: string): readonly Imports[] => {
  const edges = new Map<string, Set<string>>();
  for (const { files, path } of graph) {
    for (const file of files) {
      const [from, to] = [path.split("/"), file.split("/")];
      const at = from.findIndex((part, i) => part !== to[i]);
      if (at < 0 || at >= from.length - 1 || at >= to.length - 1) continue;
      const [here, there] = [from, to].map((parts) => parts.slice(0, at + 1).join("/"));
      if (!here!.startsWith(`${root}/`) || !there!.startsWith(`${root}/`)) continue;
      edges.set(here!, (edges.get(here!) ?? new Set()).add(there!));
    }
  }
  return [...edges].map(([path, files]) => ({ path, files: [...files].sort(), packages: [] }));
};
