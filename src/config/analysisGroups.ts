/**
 * The groups that a gradient analysis plays for itself, with training's presets in training's proportions.
 * The keys are RAGEN's `gradient_analysis_env_groups` and `gradient_analysis_group_size`.
 */
import { groupsOf, type Levels } from "./levels.ts";
import type { RunConfig } from "./RunConfig.ts";

type Train = RunConfig["es_manager"]["train"];

export interface AnalysisGroups extends Pick<Train, "env_groups" | "group_size" | "tags" | "seed"> {
  readonly levels: Levels;
  /** Groups of each tag; they sum to `env_groups`, and a tag may have none. */
  readonly n_groups: readonly number[];
}

/** Splits `total` in the proportions of `counts` by largest remainder; ties go to the larger count, then to the first. */
export const apportion = (counts: readonly number[], total: number): readonly number[] => {
  const sum = counts.reduce((sum, count) => sum + count, 0);
  const shares = counts.map((count) => Math.floor((total * count) / sum));
  const remainder = (i: number): number => (total * counts[i]!) % sum;
  const missing = total - shares.reduce((sum, share) => sum + share, 0);
  const first = Array.from(counts.keys())
    .sort((a, b) => remainder(b) - remainder(a) || counts[b]! - counts[a]!)
    .slice(0, missing);
  return shares.map((share, i) => (first.includes(i) ? share + 1 : share));
};

/** Returns null if the analysis uses training's batch: its keys are 0 or equal training's. */
export const analysisGroups = (config: RunConfig): AnalysisGroups | null => {
  const { trainer } = config;
  const train = groupsOf(config, "train");
  const env_groups = trainer.gradient_analysis_env_groups || train.env_groups;
  const group_size = trainer.gradient_analysis_group_size || train.group_size;
  if (env_groups === train.env_groups && group_size === train.group_size) return null;
  return { ...train, env_groups, group_size, n_groups: apportion(train.n_groups, env_groups) };
};
