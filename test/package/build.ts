/**
 * Builds dist/, the JavaScript and the types of the published package, from src/ and pipelines/. `tsc` turns every import of a .ts file
 * into one of a .js file, but neither in types nor in the literals `new URL("./worker.ts", import.meta.url)` that name worker files: both
 * are renamed here. Files beside the sources that are not TypeScript (Python) are copied.
 */
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { packageRoot } from "../../src/support/files/packageRoot.ts";

const dist = join(packageRoot, "dist");

/** Files below a folder of the package, as absolute paths. */
const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const compile = () => {
  const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
  const tsc = join(dirname(manifest), "bin/tsc");
  execFileSync(process.execPath, [tsc, "-p", join(import.meta.dirname, "tsconfig.json")], { stdio: "inherit" });
};

/** Worker files, as their starters name them. */
const workerUrl = /new URL\(\s*"(\.[^"]+)\.ts",\s*import\.meta\.url\s*\)/g;

/** Imports of types, in both of their forms. */
const typeImport = /(from |import\()"(\.[^"]+)\.ts"/g;

const renamed = (file: string, text: string): string =>
  file.endsWith(".d.ts")
    ? text.replace(typeImport, '$1"$2.js"')
    : text.replace(workerUrl, 'new URL("$1.js", import.meta.url)');

const rename = () => {
  for (const file of filesOf(dist)) writeFileSync(file, renamed(file, readFileSync(file, "utf8")));
};

const copyOthers = () => {
  for (const file of filesOf(join(packageRoot, "src")).filter((name) => !/\.ts$|\.pyc$/.test(name))) {
    cpSync(file, join(dist, relative(packageRoot, file)));
  }
};

rmSync(dist, { recursive: true, force: true });
compile();
rename();
copyOthers();
