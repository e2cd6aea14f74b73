/**
 * Loads a user's module whose default export is an environment, or fails with one sentence that says why it cannot be used. Invariant: a
 * loaded environment has every member of its contract, and they return what the contract says. `src/env/validate` checks the rest.
 */
import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Result } from "effect";
import { isModulePath } from "../../config/modulePath.ts";
import { byNearest } from "../../config/nearest.ts";
import type { AsyncEnvironment } from "../contract/AsyncEnvironment.ts";
import type { Environment } from "../contract/Environment.ts";
import { type Members, memberErrors } from "./members.ts";
import { describeModuleError } from "./moduleError.ts";
import { registerPackageNames } from "./packageNames.ts";
import { guardProcess } from "./processGuard.ts";
import { withAsyncChecks, withChecks } from "./withChecks.ts";

export type UserEnvironment = Environment<unknown, unknown> | AsyncEnvironment<unknown, unknown>;

export const isAsync = (environment: UserEnvironment): environment is AsyncEnvironment<unknown, unknown> =>
  "asynchronous" in environment && environment.asynchronous === true;

const isMembers = (value: unknown): value is Members => typeof value === "object" && value !== null;

/** The environment among a module's exports, or the reason why there is none. */
export const environmentOf = (exported: Readonly<Record<string, unknown>>): Result.Result<UserEnvironment, string> => {
  const candidate = exported.default;
  if (candidate === undefined) {
    const names = Object.keys(exported);
    const others = names.length === 0 ? "it exports nothing" : `it exports ${names.join(", ")}`;
    return Result.fail(`no default export (${others}); write \`export default\` before the environment`);
  }
  if (!isMembers(candidate)) return Result.fail("the default export is no environment: it is not an object");
  const errors = memberErrors(candidate);
  if (errors.length > 0) return Result.fail(`the default export is no environment: ${errors.join("; ")}`);
  // Every member has been checked, so that this is the only place where an export gets its type.
  return Result.succeed(candidate as UserEnvironment);
};

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

const missingFileMessage = (path: string): string => {
  const folder = dirname(path);
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  const modules = isFolder ? readdirSync(folder).filter(isModulePath) : [];
  const [nearest] = byNearest(basename(path), modules);
  return `no such file${nearest === undefined ? "" : `; nearest: ${join(folder, nearest)}`}`;
};

/** The time limit for loading a module, in milliseconds. */
const loadMs = 30_000;

/** The exports of a module. It rejects where the module's top level does not finish in time, or would end the process. */
const importModule = async (path: string, timeoutMs: number): Promise<Readonly<Record<string, unknown>>> => {
  let timer: NodeJS.Timeout | undefined;
  const release = guardProcess();
  const timeout = new Promise<never>((_, reject) => {
    const message = `its top level has not finished after ${timeoutMs / 1000} s; slow work belongs in prepare`;
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

/** Loads a module in this thread, once. */
export const load = async (path: string, timeoutMs = loadMs): Promise<Result.Result<UserEnvironment, string>> => {
  if (!isFile(path)) return Result.fail(missingFileMessage(path));
  registerPackageNames();
  try {
    return Result.map(environmentOf(await importModule(path, timeoutMs)), (environment) =>
      isAsync(environment) ? withAsyncChecks(path, environment) : withChecks(path, environment),
    );
  } catch (cause) {
    return Result.fail(`the module cannot be loaded: ${describeModuleError(path, cause)}${remedyFor(path, cause)}`);
  }
};
