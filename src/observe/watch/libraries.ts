/** The browser modules of the page's libraries, which lie beside the files that Node would load. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const modules = {
  preact: "preact.module.js",
  "preact/hooks": "hooks.module.js",
  htm: "htm.module.js",
  "htm/preact": "index.module.js",
  uplot: "uPlot.esm.js",
} as const;
export type Library = keyof typeof modules;

export const libraries: readonly Library[] = ["preact", "preact/hooks", "htm", "htm/preact", "uplot"];

export const isLibrary = (name: string): name is Library => Object.hasOwn(modules, name);

const { resolve } = createRequire(import.meta.url);

const beside = (library: Library, file: string): string => join(dirname(resolve(library)), file);

/** Absolute path of a library's module. */
export const moduleFile = (library: Library): string => beside(library, modules[library]);

/** Absolute path of uPlot's style sheet. */
export const styleSheetFile = (): string => beside("uplot", "uPlot.min.css");
