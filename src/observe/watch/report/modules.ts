/**
 * The page's modules as one import map that needs no server: each module is a `data:` address under a bare name, and its relative
 * imports are rewritten to such names. So a browser runs the same modules as on the page.
 */
import { existsSync, readFileSync } from "node:fs";
import { relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isLibrary, moduleFile } from "../libraries.ts";
import { stripTypes } from "../stripTypes.ts";

/** Static imports and re-exports, in the form of our sources and of the libraries. */
const importing = /\b(?:from\s*|import\s*)(["'])([^"'\n]+)\1/g;

const sourceMap = /\n?\/\/# sourceMappingURL=[^\n]*\s*$/;

const sourceOf = (file: string): string => {
  const text = readFileSync(file, "utf8").replace(sourceMap, "");
  return file.endsWith(".ts") ? stripTypes(text) : text;
};

/** The folder above src/observe/watch, or above its build. */
const root = fileURLToPath(new URL("../../../", import.meta.url));

const nameOf = (file: string): string => `millrace/${relative(root, file).split(sep).join("/")}`;

/** In a build, the modules of the page are JavaScript. */
const built = (file: string): string => (existsSync(file) ? file : file.replace(/\.ts$/, ".js"));

const libraryOf = (specifier: string): string => {
  if (!isLibrary(specifier)) throw new Error(`the page imports ${specifier}, which is none of its libraries`);
  return moduleFile(specifier);
};

export interface Modules {
  /** Bare name of the first module. */
  readonly entry: string;
  /** Addresses by bare names. */
  readonly imports: Readonly<Record<string, string>>;
}

/** The modules that the one at `url` imports, including itself. */
export const modulesFrom = (url: URL): Modules => {
  const imports: Record<string, string> = {};
  const waiting: (readonly [name: string, file: string])[] = [];
  const entryFile = built(fileURLToPath(url));
  waiting.push([nameOf(entryFile), entryFile]);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [name, file] = next;
    if (Object.hasOwn(imports, name)) continue;
    const source = sourceOf(file).replace(importing, (whole, quote: string, specifier: string) => {
      const local = specifier.startsWith(".");
      const imported = local ? built(fileURLToPath(new URL(specifier, pathToFileURL(file)))) : libraryOf(specifier);
      const bare = local ? nameOf(imported) : specifier;
      waiting.push([bare, imported]);
      return whole.replace(`${quote}${specifier}${quote}`, JSON.stringify(bare));
    });
    imports[name] = `data:text/javascript;base64,${Buffer.from(source).toString("base64")}`;
  }
  return { entry: nameOf(entryFile), imports };
};
