/**
 * `millrace init`: writes the project of docs/examples/project into a new or empty folder, under that folder's name. All of the project is
 * written, or nothing.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { Effect } from "effect";
import { showValue } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { packageRoot, version } from "../src/support/files/packageRoot.ts";
import { projectOf } from "./foreignCode.ts";
import { asTyped } from "./paths.ts";
import { quoted } from "./resultLines.ts";

const template = join(packageRoot, "docs/examples/project");

/** Names that npm refuses, and the one that would hide the installed package from the project's own imports. */
const refusedNames = ["", "millrace", "node_modules", "favicon.ico"];

/** A name that npm takes for the package in `folder`. */
export const packageName = (folder: string): string => {
  const name = basename(folder)
    .normalize("NFKD")
    .replace(/\p{Mark}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .slice(0, 100)
    .replace(/^[-._]+|[-._]+$/g, "");
  return refusedNames.includes(name) ? "millrace-project" : name;
};

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const readManifest = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** The version or path by which a project depends on this package; undefined where it does not, or cannot be read. */
const specifierIn = (project: string): string | undefined => {
  try {
    const { dependencies, devDependencies } = readManifest(project);
    return dependencies?.millrace ?? devDependencies?.millrace;
  } catch {
    return undefined;
  }
};

const fileSpecifier = (from: string, path: string): string => `file:${relative(from, path).replaceAll("\\", "/")}`;

/**
 * The dependency of a project in `folder` on this package: the one of the project around the working directory, so that a tarball installed
 * there serves here too; else this version, or this checkout.
 */
const dependencyFor = (folder: string): string => {
  const project = projectOf(process.cwd());
  const specifier = project === null ? undefined : specifierIn(project);
  if (project !== null && specifier?.startsWith("file:") === true)
    return fileSpecifier(folder, resolve(project, specifier.slice("file:".length)));
  if (specifier !== undefined) return specifier;
  return packageRoot.split(sep).includes("node_modules") ? version : fileSpecifier(folder, packageRoot);
};

const manifestFor = (folder: string): string => {
  const manifest = readManifest(template);
  const dependencies = { ...manifest.dependencies, millrace: dependencyFor(folder) };
  return `${JSON.stringify({ ...manifest, name: packageName(folder), dependencies }, null, 2)}\n`;
};

/** The files of the project in `folder`, by name. npm packs no .gitignore, so that the template's has another name. */
const filesFor = (folder: string): ReadonlyMap<string, string> => {
  const names = readdirSync(template, { withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    names.map(({ name }) => [
      name === "gitignore" ? ".gitignore" : name,
      name === "package.json" ? manifestFor(folder) : readFileSync(join(template, name), "utf8"),
    ]),
  );
};

/** Fails with a sentence where `folder` is a file or holds anything but a repository of git. */
const checkEmpty = async (folder: string): Promise<void> => {
  const names = existsSync(folder) ? await readdir(folder) : [];
  const other = names.find((name) => name !== ".git");
  if (other !== undefined) throw new Error(`it is not empty: it holds ${showValue(other)}`);
};

/** Writes the files; where one fails, it removes those before it, and the folders that it made. */
export const writeAll = async (folder: string, files: ReadonlyMap<string, string>): Promise<void> => {
  const firstNew = await mkdir(folder, { recursive: true });
  try {
    for (const [name, text] of files) await writeFile(join(folder, name), text);
  } catch (cause) {
    const leftovers = firstNew === undefined ? [...files.keys()].map((name) => join(folder, name)) : [firstNew];
    await Promise.all(leftovers.map((path) => rm(path, { recursive: true, force: true })));
    throw cause;
  }
};

/** True if an import in `folder` finds the package: in its own node_modules or in that of a folder above. */
const isInstalledFor = (folder: string): boolean =>
  existsSync(join(folder, "node_modules", "millrace", "package.json")) ||
  (dirname(folder) !== folder && isInstalledFor(dirname(folder)));

/** Commands of the project's README above its first section. */
const commandsOf = (files: ReadonlyMap<string, string>): readonly string[] => {
  const [beginning = ""] = (files.get("README.md") ?? "").split("\n## ");
  return beginning.split("\n").filter((line) => line.startsWith("npx millrace "));
};

/** Writes the project; returns lines that say what was written, and what to type next. */
export const init = Effect.fnUntraced(function* (typed: string) {
  const folder = resolve(typed);
  const files = filesFor(folder);
  yield* Effect.tryPromise({
    try: async () => {
      await checkEmpty(folder);
      await writeAll(folder, files);
    },
    catch: (cause) => {
      const problem = cause instanceof Error ? cause.message : String(cause);
      return new BadInput({
        message: `FOLDER: ${showValue(typed)}: ${problem}; name a new folder: millrace init FOLDER`,
      });
    },
  });
  const name = asTyped(folder);
  return [
    `wrote ${name}: ${[...files.keys()].sort().join(", ")}`,
    "next",
    ...(folder === process.cwd() ? [] : [`  cd ${quoted(name)}`]),
    ...(isInstalledFor(folder) ? [] : ["  npm install"]),
    ...commandsOf(files).map((line) => `  ${line}`),
  ];
});
