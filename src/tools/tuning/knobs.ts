/** The concurrencies that the autotuner may change in a run, as far as admission, caches and threads allow. */
import { cacheRows, maxPermits } from "../../config/maxPermits.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { lead } from "../../domain/PipelineMode.ts";
import type { Knob, Options } from "./Autotune.ts";
import type { Lanes } from "./LanesTuner.ts";

/** Windows scored at once that the line has room for. */
const SCORES = 4;

export const optionsOf = (config: RunConfig): Options & { readonly lanes: Lanes } => {
  const { model, pipeline } = config;
  const most = { ...maxPermits(config), score: SCORES };
  const knobs = Object.entries(most).map(([stage, most]): Knob => ({ stage, least: 1, most }));
  return {
    knobs,
    lanes: { most: model.learner_lanes, lead: lead({ mode: pipeline.mode, maxStaleness: pipeline.max_staleness }) },
    setting: {
      mode: pipeline.mode,
      groupSize: config.es_manager.train.group_size,
      episodes: cacheRows(config),
      most: new Map(knobs.map(({ most, stage }) => [stage, most])),
    },
  };
};
