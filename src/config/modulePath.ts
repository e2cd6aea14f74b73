/**
 * Paths of a user's modules: an `env_type` that is a path, an advantage estimator, a policy loss.
 * They are made absolute, so that they mean the same in any thread, working directory and run folder.
 */
import { resolve } from "node:path";
import type { Tree } from "./Tree.ts";
import { get, isTree, setAll } from "./Tree.ts";

/** True for a name with a slash or a script's extension, which no environment of the package has. */
export const isModulePath = (envType: string): boolean => /[/\\]/.test(envType) || /\.[cm]?[jt]s$/.test(envType);

/** Keys whose value is the path of a learner's module. */
export const learnerModuleKeys = [
  ["algorithm", "custom_estimator"],
  ["actor", "custom_loss"],
] as const;

const pathKeys = [...learnerModuleKeys, ["agent", "path"], ["agent", "tasks"]] as const;

export const withAbsoluteModulePaths = (layer: Tree, folder: string): Tree => {
  const presets = get(layer, ["custom_envs"]);
  const tags = isTree(presets) ? Object.keys(presets) : [];
  const keys = [...tags.map((tag) => ["custom_envs", tag, "env_type"]), ...pathKeys];
  const changes = keys.flatMap((path) => {
    const value = get(layer, path);
    if (typeof value !== "string" || value === "" || (path[0] === "custom_envs" && !isModulePath(value))) return [];
    return [{ path, value: resolve(folder, value) }];
  });
  return setAll(layer, changes);
};
