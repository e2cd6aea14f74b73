/** Reads the notation of the states of a run's presets from its config.yaml, for the presets that the run plays. */
import { Result } from "effect";
import { get, isTree, merge } from "../../config/Tree.ts";
import { readYaml } from "../../config/yamlText.ts";
import { levelTag } from "../../domain/Group.ts";
import type { Scene, Scenes } from "./Api.ts";

/** Wrappers that rewrite the text of a state, so that its symbols may have another meaning. */
const rewriting: ReadonlySet<unknown> = new Set(["observation_rewrite"]);

const sceneOf = (preset: unknown): Scene | null => {
  const env_type = get(preset, ["env_type"]);
  const env_config = get(preset, ["env_config"]);
  const wrappers = get(preset, ["wrappers"]);
  if (typeof env_type !== "string") return null;
  if (Array.isArray(wrappers) && wrappers.some((wrapper) => rewriting.has(get(wrapper, ["type"])))) return null;
  return { env_type, env_config: isTree(env_config) ? env_config : {} };
};

const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];

/** The preset of a tag, and those of its levels. */
const presetsOf = (tree: unknown, tag: string): readonly (readonly [tag: string, preset: unknown])[] => {
  const preset = get(tree, ["custom_envs", tag]);
  const levels = get(preset, ["levels"]);
  if (!isTree(preset) || !isTree(levels)) return [[tag, preset]];
  const { env_config } = preset;
  const base = isTree(env_config) ? env_config : {};
  const ofLevels = Object.entries(levels).map(
    ([level, changes]) =>
      [levelTag(tag, level), { ...preset, env_config: merge(base, isTree(changes) ? changes : {}) }] as const,
  );
  return [[tag, preset], ...ofLevels];
};

/** Empty for a text that is no configuration. */
export const scenesOf = (config: string): Scenes => {
  const tree = Result.getOrElse(readYaml(config), () => null);
  const tags = ["train", "val"].flatMap((split) => textsOf(get(tree, ["es_manager", split, "tags"])));
  const presets = [...new Set(tags)].flatMap((tag) => presetsOf(tree, tag));
  const entries = presets.flatMap(([tag, preset]): readonly (readonly [string, Scene])[] => {
    const scene = sceneOf(preset);
    return scene === null ? [] : [[tag, scene]];
  });
  return Object.fromEntries(entries);
};
