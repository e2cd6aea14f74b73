/** The most permits that each stage of a run can use, given admission, cache rows and threads. Stages not listed have one. */
import { lead } from "../domain/PipelineMode.ts";
import type { RunConfig } from "./RunConfig.ts";

/** Slots of all generator threads, which is the most episodes in flight. */
export const cacheRows = ({ generation, model }: RunConfig): number => generation.slots * model.generator_threads;

/** Groups of the consumed window, of the lead ahead of it, and of one refill. */
const admissibleGroups = ({ es_manager, filter: { refill }, pipeline }: RunConfig): number =>
  (lead({ mode: pipeline.mode, maxStaleness: pipeline.max_staleness }) + 1) * es_manager.train.env_groups +
  (refill.target > 0 ? Math.max(refill.batch, refill.target) : 0);

/**
 * Groups in flight: all that admission allows. The generator's slots bound episodes, not groups, so one straggler does not idle the
 * slots of its finished group.
 */
export const groupsInFlight = (config: RunConfig): number => {
  const { mode, rollout_concurrency: concurrency } = config.pipeline;
  return concurrency > 0 && mode !== "lockstep" ? concurrency : admissibleGroups(config);
};

/** Most windows scored at once; more gains nothing. */
const maxScoredWindows = 64;

export const maxPermits = (config: RunConfig): Readonly<Record<string, number>> => ({
  // Lockstep waits for every episode of a window, so all of its groups must play.
  ...(config.pipeline.mode === "lockstep" ? {} : { rollout: admissibleGroups(config) }),
  score: maxScoredWindows,
  generate: cacheRows(config),
  ...(config.pipeline.step_inline ? {} : { step: config.pipeline.step_threads }),
});
