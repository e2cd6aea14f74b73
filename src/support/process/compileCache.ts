/** The cache of compiled code in worker threads, which halves the time in which they start. The launcher opens it for the process. */
import module from "node:module";
import { dirname } from "node:path";
import process from "node:process";

/** The folder of compiled code; null where the process keeps none. Node makes a folder for its version within it. */
export const compileCacheFolder = (): string | null => {
  const folder = module.getCompileCacheDir();
  return folder === undefined ? null : dirname(folder);
};

/** The environment of a thread that uses the cache of its process: a thread opens it only by this variable, or late by itself. */
export const threadEnvironment = (): NodeJS.ProcessEnv => {
  const folder = compileCacheFolder();
  return folder === null ? process.env : { ...process.env, NODE_COMPILE_CACHE: folder };
};
