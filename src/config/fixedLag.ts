/** The fixed lag of a run file (`pipeline.schedule`). */
import * as FixedLag from "../domain/FixedLag.ts";
import type { RunConfig } from "./RunConfig.ts";

/** True for an async run with a fixed lag; in the other modes there is nothing to lag behind. */
export const isFixedLag = ({ pipeline }: Pick<RunConfig, "pipeline">): boolean =>
  pipeline.mode === "async" && pipeline.schedule === "fixed_lag";

/** The fixed lag with which a new run starts; null where the run has none. */
export const startingLag = (config: RunConfig): FixedLag.FixedLag | null =>
  isFixedLag(config) ? FixedLag.start(config.pipeline.max_staleness) : null;

/** Weights versions that generators keep under a fixed lag: those of the window being consumed and of all that run ahead of it. */
export const keptVersions = (config: RunConfig): number => config.pipeline.max_staleness + 1;
