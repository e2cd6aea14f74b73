/** The task sampler of a run file (`es_manager.train.sampler`). */
import { lead } from "../domain/PipelineMode.ts";
import * as TaskSampler from "../domain/TaskSampler.ts";
import { type Playable, trainedLevels } from "./levels.ts";
import type { RunConfig } from "./RunConfig.ts";

/** The rule by which training's levels are weighed. */
export const weighingOf = ({
  es_manager: {
    train: { group_size, sampler },
  },
}: Playable): TaskSampler.Weighing => ({ ...sampler, groupSize: group_size });

/** The task sampler with which a run starts or, with that of its checkpoint, goes on; null where training plays no levels. */
export const startingSampler = (
  config: RunConfig,
  earlier: TaskSampler.TaskSampler | null = null,
): TaskSampler.TaskSampler | null => {
  const { max_staleness: maxStaleness, mode } = config.pipeline;
  if (Object.keys(trainedLevels(config)).length === 0) return null;
  return TaskSampler.start(lead({ mode, maxStaleness }), earlier);
};
