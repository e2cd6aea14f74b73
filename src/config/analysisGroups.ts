/**
 * The groups that an analysis of gradients plays for itself: as many, of as many episodes, as the run file says, of training's presets in
 * training's proportions (RAGEN's `gradient_analysis_env_groups` and `gradient_analysis_group_size`). Pure.
 */
import type { RunConfig } from "./RunConfig.ts";

type Train = RunConfig["es_manager"]["train"];

export interface AnalysisGroups extends Pick<Train, "env_groups" | "group_size" | "tags" | "seed"> {
  /** Groups of each tag; sums to `env_groups`. A tag may have none. */
  readonly n_groups: readonly number[];
}

/** `total` in the proportions of `counts`, whole numbers that sum to it (largest remainder; of equal ones the larger count, then the first). */
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

/** Null where an analysis takes training's own batch: its keys are 0, or as training's are. */
export const analysisGroups = ({ es_manager: { train }, trainer }: RunConfig): AnalysisGroups | null => {
  const env_groups = trainer.gradient_analysis_env_groups || train.env_groups;
  const group_size = trainer.gradient_analysis_group_size || train.group_size;
  if (env_groups === train.env_groups && group_size === train.group_size) return null;
  return { ...train, env_groups, group_size, n_groups: apportion(train.n_groups, env_groups) };
};
