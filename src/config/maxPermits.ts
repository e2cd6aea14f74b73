/** The most slots that each stage of a run can use: what admission, cache rows and threads allow. Stages that it leaves out have one slot. */
import { lead } from "../domain/PipelineMode.ts";
import type { RunConfig } from "./RunConfig.ts";

/** Sequences that may hold a cache at once, over all generator threads: the most episodes in flight. */
export const cacheRows = ({ generation, model }: RunConfig): number => generation.slots * model.generator_threads;

/** Groups that may be admitted ahead of the window that is consumed, that window's own, and what a window may ask for at once. */
const admissibleGroups = ({ es_manager, filter: { refill }, pipeline }: RunConfig): number =>
  (lead({ mode: pipeline.mode, maxStaleness: pipeline.max_staleness }) + 1) * es_manager.train.env_groups +
  (refill.target > 0 ? Math.max(refill.batch, refill.target) : 0);

/**
 * Groups that are played at once: all that admission allows. The generator's slots bound their episodes, so that one straggler of a group does
 * not keep the slots of its finished members idle.
 */
export const groupsInFlight = (config: RunConfig): number => {
  const { mode, rollout_concurrency: given } = config.pipeline;
  return given > 0 && mode !== "lockstep" ? given : admissibleGroups(config);
};

/** Windows scored at once; there is never much to gain. */
const maxScoredWindows = 64;

export const maxPermits = (config: RunConfig): Readonly<Record<string, number>> => ({
  // Lockstep waits for every episode of a window, so that all of its groups have to play.
  ...(config.pipeline.mode === "lockstep" ? {} : { rollout: admissibleGroups(config) }),
  score: maxScoredWindows,
  generate: cacheRows(config),
  ...(config.pipeline.step_inline ? {} : { step: config.pipeline.step_threads }),
});
