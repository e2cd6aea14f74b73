/** Checks of levels and of the task sampler that chooses among them. */
import { levelTag } from "../../domain/Group.ts";
import { trainedLevels } from "../levels.ts";
import { maxProblems, showText, showValue } from "../show.ts";
import { type Check, problemIf } from "./Check.ts";

/** Levels are parts of tags, and keys that an override can name. */
const isName = (level: string): boolean => /^[\w+-]{1,64}$/.test(level);

export const levels: Check = (config) => {
  const { agent, custom_envs, es_manager } = config;
  const named = Object.entries(custom_envs).flatMap(([tag, preset]) =>
    Object.keys(preset.levels).map((level) => ({ key: `custom_envs.${showText(tag)}.levels`, tag, level })),
  );
  const all = [...named, ...agent.levels.map((level) => ({ key: "agent.levels", tag: agent.tag, level }))];
  const unusable = all.filter(({ level }) => !isName(level));
  const doubled = all.filter(({ level, tag }) => Object.hasOwn(custom_envs, levelTag(tag, level)));
  const { by } = es_manager.train.sampler;
  return [
    ...unusable
      .slice(0, maxProblems)
      .map(({ key, level }) => `${key}: ${showValue(level)}: a level has 1 to 64 letters, digits, _, + or -`),
    ...doubled
      .slice(0, maxProblems)
      .map(
        ({ key, level, tag }) => `${key}: ${showValue(level)}: ${showText(levelTag(tag, level))} is a preset already`,
      ),
    ...problemIf(
      by === "difficulty" && Object.keys(trainedLevels(config)).length === 0,
      () =>
        `es_manager.train.sampler.by: difficulty: no preset of es_manager.train.tags (${showText(es_manager.train.tags.join(", "))}) has levels; nearest: uniform`,
    ),
  ];
};
