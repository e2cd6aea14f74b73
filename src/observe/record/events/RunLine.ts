/** The line of events.jsonl that describes the run as a whole. */

import { cacheRows, maxPermits } from "../../../config/maxPermits.ts";
import type { RunConfig } from "../../../config/RunConfig.ts";
import type { PipelineMode } from "../../../domain/PipelineMode.ts";

/**
 * Version of the lines' shape; readers take all versions. Version 2 adds to a keyframe's groups the window whose refill asked for
 * them.
 */
export const SCHEMA = 2;

/** The first line of the file, and of each resumed part. */
export interface RunLine {
  readonly _tag: "Run";
  readonly schema: number;
  readonly name: string;
  readonly mode: PipelineMode;
  readonly maxStaleness: number;
  readonly seed: number;
  readonly steps: number;
  /** Groups of a window, and episodes of a group. */
  readonly groups: number;
  readonly groupSize: number;
  /** The largest number of episodes in flight. */
  readonly episodes: number;
  /** The largest number of slots of each stage whose concurrency can be set. */
  readonly most: Readonly<Record<string, number>>;
}

export const runLine = (config: RunConfig): RunLine => {
  const { es_manager, pipeline, run, trainer } = config;
  return {
    _tag: "Run",
    schema: SCHEMA,
    name: run.name,
    mode: pipeline.mode,
    maxStaleness: pipeline.max_staleness,
    seed: run.seed,
    steps: trainer.total_training_steps,
    groups: es_manager.train.env_groups,
    groupSize: es_manager.train.group_size,
    episodes: cacheRows(config),
    most: maxPermits(config),
  };
};
