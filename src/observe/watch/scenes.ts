/** Reads the notation of the states of a run's presets from its config.yaml, for the presets that the run plays. */
import { Result } from "effect";
import { withLevels } from "../../config/levels.ts";
import { get, isTree, type Tree } from "../../config/Tree.ts";
import { readYaml } from "../../config/yamlText.ts";
import { levelTag } from "../../domain/Group.ts";
import type { Scene, Scenes } from "./Api.ts";

/** Wrappers that rewrite the text of a state, so that its symbols may have another meaning. */
const rewriting: ReadonlySet<unknown> = new Set(["observation_rewrite"]);

const treeOf = (value: unknown): Tree => (isTree(value) ? value : {});

const sceneOf = (preset: Tree): Scene | null => {
  const { env_config, env_type, wrappers } = preset;
  if (typeof env_type !== "string") return null;
  if (Array.isArray(wrappers) && wrappers.some((wrapper) => rewriting.has(get(wrapper, ["type"])))) return null;
  return { env_type, env_config: treeOf(env_config) };
};

const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];

/** A preset whose arguments and levels are trees, whatever the file has there. */
const presetOf = (value: unknown) => {
  const preset = treeOf(value);
  const levels = Object.entries(treeOf(preset.levels)).map(([level, changes]) => [level, treeOf(changes)] as const);
  return { ...preset, env_config: treeOf(preset.env_config), levels: Object.fromEntries(levels) };
};

/** Empty for a text that is no configuration. */
export const scenesOf = (config: string): Scenes => {
  const tree = Result.getOrElse(readYaml(config), () => null);
  const tags = ["train", "val"].flatMap((split) => textsOf(get(tree, ["es_manager", split, "tags"])));
  const all = Object.entries(treeOf(get(tree, ["custom_envs"]))).map(
    ([tag, preset]) => [tag, presetOf(preset)] as const,
  );
  const presets = Object.entries(withLevels(Object.fromEntries(all)));
  const playedPresets = presets.filter(([name]) =>
    tags.some((tag) => name === tag || name.startsWith(levelTag(tag, ""))),
  );
  const entries = playedPresets.flatMap(([tag, preset]): readonly (readonly [string, Scene])[] => {
    const scene = sceneOf(preset);
    return scene === null ? [] : [[tag, scene]];
  });
  return Object.fromEntries(entries);
};
