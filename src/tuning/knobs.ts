/** Which stages the autotuner may change in a run, and how far: what admission, caches and threads allow. */
import type { RunConfig } from "../config/RunConfig.ts";
import type { Knob, Options } from "./Autotune.ts";

/** Windows scored at once that the line has room for. */
const SCORES = 4;

export const optionsOf = ({ es_manager, generation, model, pipeline }: RunConfig): Options => {
  const { env_groups, group_size } = es_manager.train;
  const { max_staleness, mode, step_inline, step_threads } = pipeline;
  const slots = generation.slots * model.generator_threads;
  const lead = mode === "async" ? max_staleness : 0;
  const knobs: readonly Knob[] = [
    // Lockstep needs all groups of a window in flight.
    ...(mode === "lockstep" ? [] : [{ stage: "rollout", least: 1, most: (lead + 1) * env_groups }]),
    { stage: "generate", least: 1, most: slots },
    ...(step_inline ? [] : [{ stage: "step", least: 1, most: step_threads }]),
    { stage: "score", least: 1, most: SCORES },
  ];
  return {
    knobs,
    setting: {
      mode,
      groupSize: group_size,
      episodes: slots,
      most: new Map(knobs.map(({ most, stage }) => [stage, most])),
    },
  };
};
