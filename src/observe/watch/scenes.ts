/** Reads the notation of the states of a run's presets from its config.yaml, for the presets that the run plays. */
import { Result } from "effect";
import { get, isTree } from "../../config/Tree.ts";
import { readYaml } from "../../config/yamlText.ts";
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

/** Empty for a text that is no configuration. */
export const scenesOf = (config: string): Scenes => {
  const tree = Result.getOrElse(readYaml(config), () => null);
  const tags = ["train", "val"].flatMap((split) => textsOf(get(tree, ["es_manager", split, "tags"])));
  const entries = [...new Set(tags)].flatMap((tag): readonly (readonly [string, Scene])[] => {
    const scene = sceneOf(get(tree, ["custom_envs", tag]));
    return scene === null ? [] : [[tag, scene]];
  });
  return Object.fromEntries(entries);
};
