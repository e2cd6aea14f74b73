/** The fixed lag of a run file (`pipeline.schedule`), and the group numbers that its windows have. */
import * as FixedLag from "../domain/FixedLag.ts";
import type { RunConfig } from "./RunConfig.ts";

export const isFixedLag = ({ pipeline }: Pick<RunConfig, "pipeline">): boolean => pipeline.schedule === "fixed_lag";

/** Most groups of one refill; 0 where windows ask for none. */
export const refillGroups = ({ filter: { refill } }: Pick<RunConfig, "filter">): number => {
  if (refill.target === 0) return 0;
  return refill.batch > 0 ? refill.batch : refill.target;
};

/** Numbers of a window's groups: a multiple of its own groups, because a group's number modulo those decides its tag. */
const numbersOf = (config: RunConfig): number => {
  const { env_groups } = config.es_manager.train;
  return env_groups * (1 + Math.ceil((config.filter.refill.rounds * refillGroups(config)) / env_groups));
};

/** The fixed lag with which a new run starts; null where the run has none. */
export const startingLag = (config: RunConfig): FixedLag.FixedLag | null =>
  isFixedLag(config) ? FixedLag.start({ lag: config.pipeline.max_staleness, numbers: numbersOf(config) }) : null;

/** Weights versions that generators keep under a fixed lag: those of the window being consumed and of all that run ahead of it. */
export const keptVersions = (config: RunConfig): number => config.pipeline.max_staleness + 1;
