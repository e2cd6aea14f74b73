/**
 * Loads a user's module in this thread, or says in one sentence why it cannot be loaded. Invariant: a module neither ends the process nor keeps
 * its caller waiting for ever.
 */
import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import * as Result from "effect/Result";
import { byNearest } from "../text/nearest.ts";
import { describeModuleError } from "./moduleError.ts";
import { registerPackageNames } from "./packageNames.ts";
import { guardProcess } from "./processGuard.ts";

export type Exports = Readonly<Record<string, unknown>>;

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

const missingFileMessage = (path: string): string => {
  const folder = dirname(path);
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  const modules = isFolder ? readdirSync(folder).filter((name) => /\.[cm]?[jt]s$/.test(name)) : [];
  const [nearest] = byNearest(basename(path), modules);
  return `no such file${nearest === undefined ? "" : `; nearest: ${join(folder, nearest)}`}`;
};

/** The time limit for loading a module, in milliseconds. */
const loadMs = 30_000;

/** The exports of a module. It rejects where the module's top level does not finish in time, or would end the process. */
const importModule = async (path: string, timeoutMs: number): Promise<Exports> => {
  let timer: NodeJS.Timeout | undefined;
  const release = guardProcess();
  const timeout = new Promise<never>((_, reject) => {
    const message = `its top level has not finished after ${timeoutMs / 1000} s; slow work belongs in its functions`;
    timer = setTimeout(() => reject(new Error(message)), timeoutMs);
  });
  try {
    return await Promise.race([import(/* @vite-ignore */ pathToFileURL(path).href), timeout]);
  } finally {
    clearTimeout(timer);
    release();
  }
};

/** Node reads a module as CommonJS if its package lacks `"type": "module"`, as `npm init` writes it; `import` and `export` are then errors. */
const remedyFor = (path: string, cause: unknown): string => {
  const isCommonJs =
    cause instanceof SyntaxError && /import statement outside a module|token 'export'/.test(cause.message);
  if (!isCommonJs) return "";
  const renamed = basename(path).replace(/\.(c|m)?(?=[jt]s$)/, ".m");
  return `; run npm pkg set type=module in its package, or name the file ${renamed}`;
};

/** Returns the module's exports, or the reason why there are none. A module is loaded once in a thread. */
export const loadExports = async (path: string, timeoutMs = loadMs): Promise<Result.Result<Exports, string>> => {
  if (!isFile(path)) return Result.fail(missingFileMessage(path));
  registerPackageNames();
  try {
    return Result.succeed(await importModule(path, timeoutMs));
  } catch (cause) {
    return Result.fail(`the module cannot be loaded: ${describeModuleError(path, cause)}${remedyFor(path, cause)}`);
  }
};

/** Returns the module's default export, which is to be a `noun`, or the reason why there is none. */
export const defaultExport = (exported: Exports, noun: string): Result.Result<unknown, string> => {
  if (exported.default !== undefined) return Result.succeed(exported.default);
  const names = Object.keys(exported);
  const others = names.length === 0 ? "it exports nothing" : `it exports ${names.join(", ")}`;
  return Result.fail(`no default export (${others}); write \`export default\` before the ${noun}`);
};
