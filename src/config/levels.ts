/**
 * Levels of a preset: its environment with other arguments, played under a tag of their own (`FrozenLakeLevels:4x4`). An agent has levels if its
 * tasks name them. A configuration holds presets as the run file has them; whoever looks one up by a played tag takes `withLevels`.
 * Invariant: a run plays the tags of levels and never that of a preset which has them.
 */
import { levelTag } from "../domain/Group.ts";
import { hasAgent } from "./agentForms.ts";
import type { RunConfig } from "./RunConfig.ts";
import { merge, type Tree } from "./Tree.ts";

/** The keys of a preset in which its levels differ. */
interface Levelled {
  readonly env_config: Tree;
  readonly levels: Readonly<Record<string, Tree>>;
}

export type Playable = Pick<RunConfig, "agent" | "custom_envs" | "es_manager">;

/** Tags of levels by the tag that has them. */
export type Levels = Readonly<Record<string, readonly string[]>>;

/** The presets, and one for each of their levels. */
export const withLevels = <P extends Levelled>(presets: Readonly<Record<string, P>>): Readonly<Record<string, P>> => {
  const ofLevels = Object.entries(presets).flatMap(([tag, preset]) =>
    Object.entries(preset.levels).map(([level, changes]) => [
      levelTag(tag, level),
      { ...preset, env_config: merge(preset.env_config, changes), levels: {} },
    ]),
  );
  return { ...presets, ...Object.fromEntries(ofLevels) };
};

export const levelsOf = ({ agent, custom_envs }: Pick<RunConfig, "agent" | "custom_envs">): Levels => {
  const named = Object.entries(custom_envs).map(([tag, { levels }]) => [tag, Object.keys(levels)] as const);
  const all = hasAgent(agent) ? [...named, [agent.tag, agent.levels] as const] : named;
  const entries = all.filter(([, levels]) => levels.length > 0);
  return Object.fromEntries(entries.map(([tag, levels]) => [tag, levels.map((level) => levelTag(tag, level))]));
};

/** The tags that a tag of a run file stands for: those of its levels, or itself. */
const expand = (levels: Levels, tag: string): readonly string[] =>
  Object.hasOwn(levels, tag) ? (levels[tag] ?? [tag]) : [tag];

/** Tags that training or validation plays, each once. */
export const playedTags = (config: Playable, side: "train" | "val"): readonly string[] => {
  const levels = levelsOf(config);
  return [...new Set(config.es_manager[side].tags.flatMap((tag) => expand(levels, tag)))];
};

/** Tags that a run plays, in training or in validation, each once. */
export const allPlayedTags = (config: Playable): readonly string[] => [
  ...new Set([...playedTags(config, "train"), ...playedTags(config, "val")]),
];

/** The groups of training or of a validation, with the levels of their tags. */
export const groupsOf = <Side extends "train" | "val">(
  config: Playable,
  side: Side,
): RunConfig["es_manager"][Side] & { readonly levels: Levels } => ({
  ...config.es_manager[side],
  levels: levelsOf(config),
});

/** The levels that training plays, by the tag that has them; empty where a run has no task sampler. */
export const trainedLevels = (config: Playable): Levels => {
  const tags = new Set(config.es_manager.train.tags);
  return Object.fromEntries(Object.entries(levelsOf(config)).filter(([tag]) => tags.has(tag)));
};
