/** From a run file's name and changes of it to a configuration, as a promise. */
import { Effect } from "effect";
import type { Layer } from "../src/config/compose.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { resolve, warn } from "../src/config/resolve.ts";
import { configDir } from "./paths.ts";
import { promiseOf } from "./promises.ts";
import { layerOf, type OwnModules, type RunFile } from "./RunFile.ts";
import { checkFile } from "./smallModel.ts";

/** Changes of a run file: a part of one, or overrides "key.sub=value". */
export type Changes = RunFile | readonly string[];

const isOverrides = (changes: Changes): changes is readonly string[] => Array.isArray(changes);

/** The overrides among the changes, and the layer of all else. */
export const layersOf = (
  changes: Changes,
  modules: OwnModules,
): { readonly overrides: readonly string[]; readonly layers: readonly Layer[] } => ({
  overrides: isOverrides(changes) ? changes : [],
  layers: [layerOf(isOverrides(changes) ? {} : changes, modules)],
});

/** The configuration of a run file by name (of those in the package) or path, under changes. Rejects with BadInput. */
export const compose = async (name: string, changes: Changes = {}, modules: OwnModules = {}): Promise<RunConfig> => {
  const { layers, overrides } = layersOf(changes, modules);
  const resolved = resolve(name, overrides, configDir, null, layers).pipe(Effect.tap(warn), Effect.tap(checkFile));
  return (await promiseOf(resolved)).config;
};
