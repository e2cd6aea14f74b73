/** From a run file's name and changes of it to a configuration, as a promise. */
import { Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { resolve, warn } from "../src/config/resolve.ts";
import { configDir } from "./paths.ts";
import { layerOf, type OwnModules, type RunFile } from "./RunFile.ts";
import { checkFile } from "./smallModel.ts";
import { promiseOf } from "./thrownBy.ts";

const isOverrides = (changes: RunFile | readonly string[]): changes is readonly string[] => Array.isArray(changes);

/** The configuration of a run file by name (of those in the package) or path, under changes. Rejects with BadInput. */
export const compose = async (
  name: string,
  changes: RunFile | readonly string[] = {},
  modules: OwnModules = {},
): Promise<RunConfig> => {
  const overrides = isOverrides(changes) ? changes : [];
  const layer = layerOf(isOverrides(changes) ? {} : changes, modules);
  const resolved = resolve(name, overrides, configDir, null, [layer]).pipe(Effect.tap(warn), Effect.tap(checkFile));
  return (await promiseOf(resolved)).config;
};
