/**
 * An `env_type` that is a path names a module with a user's environment.
 * Such paths are made absolute, so that they mean the same in any thread, working directory and run folder.
 */
import { resolve } from "node:path";
import type { Tree } from "./Tree.ts";
import { get, isTree, setAll } from "./Tree.ts";

/** True for a name with a slash or a script's extension, which no environment of the package has. */
export const isModulePath = (envType: string): boolean => /[/\\]/.test(envType) || /\.[cm]?[jt]s$/.test(envType);

export const withAbsoluteModulePaths = (layer: Tree, folder: string): Tree => {
  const presets = get(layer, ["custom_envs"]);
  if (!isTree(presets)) return layer;
  const changes = Object.entries(presets).flatMap(([tag, preset]) => {
    const envType = get(preset, ["env_type"]);
    if (typeof envType !== "string" || !isModulePath(envType)) return [];
    return [{ path: ["custom_envs", tag, "env_type"], value: resolve(folder, envType) }];
  });
  return setAll(layer, changes);
};
