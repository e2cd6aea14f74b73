/** Checks of groups, tags and presets. */

import { byNearest, choices } from "../../support/text/nearest.ts";
import { isAgentTag } from "../agentForms.ts";
import { withLevels } from "../levels.ts";
import type { RunConfig } from "../RunConfig.ts";
import { maxProblems, showText, showValue } from "../show.ts";
import { type Check, problemIf } from "./Check.ts";

/** Splits groups evenly among tags; the first tags get the remainder. */
export const evenly = (groups: number, tags: number): readonly number[] =>
  Array.from({ length: tags }, (_, index) => Math.floor(groups / tags) + (index < groups % tags ? 1 : 0));

export const groups: Check = ({ es_manager }) =>
  (["train", "val"] as const).flatMap((side) => {
    const { env_groups, n_groups, tags } = es_manager[side];
    const key = `es_manager.${side}.n_groups`;
    const value = showValue(n_groups);
    if (env_groups < tags.length) {
      return [
        `es_manager.${side}.env_groups: ${env_groups}: fewer than the ${tags.length} tags; nearest: ${tags.length}`,
      ];
    }
    const nearest = showValue(evenly(env_groups, tags.length));
    if (n_groups.length !== tags.length) {
      return [`${key}: ${value}: expected one number per tag (${tags.length}); nearest: ${nearest}`];
    }
    const sum = n_groups.reduce((total, count) => total + count, 0);
    return problemIf(
      sum !== env_groups,
      () => `${key}: ${value} sums to ${sum}, but es_manager.${side}.env_groups is ${env_groups}; nearest: ${nearest}`,
    );
  });

export const tags: Check = ({ agent, custom_envs, es_manager, sft }) => {
  const presets = Object.keys(withLevels(custom_envs));
  const tagLists = [
    { key: "es_manager.train.tags", tags: es_manager.train.tags },
    { key: "es_manager.val.tags", tags: es_manager.val.tags },
    { key: "sft.sources", tags: sft.sources.map(({ tag }) => tag) },
  ];
  return tagLists.flatMap(({ key, tags }) => {
    const unknown = new Set(tags.filter((tag) => !presets.includes(tag) && !isAgentTag(agent, tag)));
    const lines = [...unknown].slice(0, maxProblems).map((tag) => {
      const nearest = byNearest(tag, presets)[0];
      const hint =
        nearest === undefined
          ? "custom_envs is empty"
          : `nearest: ${showText(nearest)}; all: ${choices(tag, presets, 30)}`;
      return `${key}: ${showValue(tag)} is no preset of custom_envs; ${hint}`;
    });
    const more = unknown.size - lines.length;
    return more > 0 ? [...lines, `${key}: … and ${more} more`] : lines;
  });
};

/** Tags name metrics and columns of tables, so their characters are limited. */
export const tagNames: Check = ({ custom_envs }) => {
  const unusable = Object.keys(custom_envs).filter(
    (tag) => tag === "" || tag.length > 128 || /[\p{Cc}\p{Cf}]/u.test(tag),
  );
  return unusable
    .slice(0, maxProblems)
    .map((tag) => `custom_envs: ${showValue(tag)}: a tag has 1 to 128 characters and no control characters`);
};

/** Estimators that compare the episodes of a group with each other. */
const withinGroup: readonly RunConfig["algorithm"]["adv_estimator"][] = [
  "grpo",
  "rloo",
  "reinforce_plus_plus_baseline",
];

export const groupSize: Check = ({ algorithm: { adv_estimator }, es_manager, filter }) => {
  const { env_groups, group_size: size } = es_manager.train;
  const spread = filter.metric === "reward_variance" || filter.metric === "entropy_variance";
  const keepsAll = filter.strategy === "top_p" && filter.value >= 1 && filter.include_zero;
  const compares = withinGroup.includes(adv_estimator);
  const line = (because: string) => `es_manager.train.group_size: ${size}: ${because}; nearest: 2`;
  return [
    ...problemIf(size < 2 && compares, () =>
      line(`algorithm.adv_estimator=${adv_estimator} compares the episodes of a group and needs at least 2`),
    ),
    ...problemIf(size < 2 && !compares && spread && !keepsAll, () =>
      line(`filter.metric=${filter.metric} is a spread within a group and needs at least 2`),
    ),
    ...problemIf(size * env_groups < 2 && adv_estimator === "brpo", () =>
      line("algorithm.adv_estimator=brpo compares the episodes of a window and needs at least 2"),
    ),
  ];
};

/** Most episodes of a window, or of a validation. */
export const maxEpisodes = 1_000_000;

/** Sizes may be valid one by one and too large together. */
export const products: Check = ({ es_manager }) =>
  (["train", "val"] as const).flatMap((side) => {
    const { env_groups, group_size } = es_manager[side];
    return problemIf(
      env_groups * group_size > maxEpisodes,
      () =>
        `es_manager.${side}.group_size: ${group_size}: ${env_groups} groups have ${env_groups * group_size} episodes, more than ${maxEpisodes}; nearest: ${Math.max(1, Math.floor(maxEpisodes / env_groups))}`,
    );
  });
