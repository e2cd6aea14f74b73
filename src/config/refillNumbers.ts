/** The numbers that the groups of refills have under a run file. */
import { firstAnalysisNumber, firstRefillNumber, type RefillNumbers } from "../domain/SeedSchedule.ts";
import type { RunConfig } from "./RunConfig.ts";

/**
 * The numbers that refills may take; null where windows ask for none, or take whichever groups finish next. Those of a window are one more than a
 * multiple of its own groups: a group's number modulo these decides its tag, so windows' refills begin with another tag each time.
 */
export const refillNumbers = ({ es_manager, filter, pipeline }: RunConfig): RefillNumbers | null => {
  const { batch, rounds, target } = filter.refill;
  if (target === 0 || pipeline.window_order === "completion") return null;
  const { env_groups } = es_manager.train;
  const perRound = batch > 0 ? batch : target;
  return { perRound, perWindow: env_groups * Math.ceil((rounds * perRound) / env_groups) + 1 };
};

/** Most numbers that the refills of one window may take, so that all windows of the run have theirs. */
export const mostRefillNumbers = ({ trainer }: RunConfig): number =>
  Math.floor((firstAnalysisNumber - firstRefillNumber) / trainer.total_training_steps);
