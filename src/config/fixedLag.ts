/** The fixed lag of a run file (`pipeline.schedule`), and the group numbers that its windows have. */
import * as FixedLag from "../domain/FixedLag.ts";
import type { RunConfig } from "./RunConfig.ts";

/** True for an async run with a fixed lag; in the other modes there is nothing to lag behind. */
export const isFixedLag = ({ pipeline }: Pick<RunConfig, "pipeline">): boolean =>
  pipeline.mode === "async" && pipeline.schedule === "fixed_lag";

/** Most groups of one refill; 0 where windows ask for none. */
export const refillGroups = ({ filter: { refill } }: Pick<RunConfig, "filter">): number => {
  if (refill.target === 0) return 0;
  return refill.batch > 0 ? refill.batch : refill.target;
};

/** Most group numbers that a run can tell apart, each member of a group included: validation's sequences begin there. */
const MOST_NUMBERS = 2 ** 30;

/** Numbers of a window's groups: a multiple of its own groups, because a group's number modulo those decides its tag. */
export const numbersOf = (config: RunConfig): number => {
  const { env_groups } = config.es_manager.train;
  return env_groups * (1 + Math.ceil((config.filter.refill.rounds * refillGroups(config)) / env_groups));
};

/** True if refills give windows so many numbers that those of late ones are not training's own. */
export const exceedsNumbers = (config: RunConfig): boolean =>
  refillGroups(config) > 0 &&
  config.trainer.total_training_steps * numbersOf(config) * config.es_manager.train.group_size > MOST_NUMBERS;

/** The fixed lag with which a new run starts; null where the run has none. */
export const startingLag = (config: RunConfig): FixedLag.FixedLag | null =>
  isFixedLag(config) ? FixedLag.start({ lag: config.pipeline.max_staleness, numbers: numbersOf(config) }) : null;

/** Weights versions that generators keep under a fixed lag: those of the window being consumed and of all that run ahead of it. */
export const keptVersions = (config: RunConfig): number => config.pipeline.max_staleness + 1;
