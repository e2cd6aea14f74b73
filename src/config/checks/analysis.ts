/** Checks of the gradient analysis. */
import { analysisGroups } from "../analysisGroups.ts";
import { type Check, problemIf } from "./Check.ts";
import { maxEpisodes } from "./groups.ts";

export const analysis: Check = (config) => {
  const { trainer } = config;
  const groups = analysisGroups(config);
  const episodes = groups === null ? 0 : groups.env_groups * groups.group_size;
  return [
    ...problemIf(
      trainer.gradient_analysis_only && !trainer.gradient_analysis_mode,
      () =>
        "trainer.gradient_analysis_only: true: the run would do nothing without trainer.gradient_analysis_mode; nearest: false",
    ),
    ...problemIf(
      trainer.gradient_analysis_group_size === 1,
      () =>
        "trainer.gradient_analysis_group_size: 1: groups are told apart by how the rewards of their episodes deviate, and need at least 2; nearest: 2",
    ),
    ...problemIf(
      groups !== null && episodes > maxEpisodes,
      () =>
        `trainer.gradient_analysis_env_groups: ${trainer.gradient_analysis_env_groups}: ${groups?.env_groups} groups have ${episodes} episodes, more than ${maxEpisodes}; nearest: ${Math.floor(maxEpisodes / (groups?.group_size ?? 1))}`,
    ),
  ];
};
