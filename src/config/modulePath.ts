/**
 * An `env_type` that is a path names a module with a user's environment. `anchored` makes such paths of a layer absolute, so that they mean
 * the same in any thread, from any working directory and in the run's folder.
 */
import { resolve } from "node:path";
import type { Tree } from "./Tree.ts";
import { get, isTree, set } from "./Tree.ts";

/** Whether a name has a slash or the extension of a script; names of the package's environments have neither. */
export const isModulePath = (envType: string): boolean => /[/\\]/.test(envType) || /\.[cm]?[jt]s$/.test(envType);

export const anchored = (layer: Tree, folder: string): Tree => {
  const presets = get(layer, ["custom_envs"]);
  if (!isTree(presets)) return layer;
  return Object.keys(presets).reduce((tree, tag) => {
    const path = ["custom_envs", tag, "env_type"];
    const envType = get(layer, path);
    return typeof envType === "string" && isModulePath(envType) ? set(tree, path, resolve(folder, envType)) : tree;
  }, layer);
};
