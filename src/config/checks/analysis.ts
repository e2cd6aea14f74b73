/** The analysis of gradients. */
import { analysisGroups } from "../analysisGroups.ts";
import { type Check, when } from "../relation.ts";
import { mostEpisodes } from "./groups.ts";

export const analysis: Check = (config) => {
  const { trainer } = config;
  const own = analysisGroups(config);
  const episodes = own === null ? 0 : own.env_groups * own.group_size;
  return [
    ...when(
      trainer.gradient_analysis_only && !trainer.gradient_analysis_mode,
      () =>
        "trainer.gradient_analysis_only: true: the run would do nothing without trainer.gradient_analysis_mode; nearest: false",
    ),
    ...when(
      trainer.gradient_analysis_group_size === 1,
      () =>
        "trainer.gradient_analysis_group_size: 1: groups are told apart by how the rewards of their episodes deviate, and need at least 2; nearest: 2",
    ),
    ...when(
      own !== null && episodes > mostEpisodes,
      () =>
        `trainer.gradient_analysis_env_groups: ${trainer.gradient_analysis_env_groups}: ${own?.env_groups} groups have ${episodes} episodes, more than ${mostEpisodes}; nearest: ${Math.floor(mostEpisodes / (own?.group_size ?? 1))}`,
    ),
  ];
};
