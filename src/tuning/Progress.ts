/**
 * The pace of a run, block by block: calls answered per second. Time in which a step validates or saves belongs to no block.
 */
import type { StageSample } from "../stage/Gauge.ts";

/** All gauges at one moment. */
export interface Observation {
  /** Milliseconds since the run started. */
  readonly elapsedMs: number;
  readonly stages: readonly StageSample[];
}

/** Shortest block, milliseconds. */
const BLOCK_MS = 1000;
/** Share of a block that the closing stage may take. */
const CLOSING = 0.2;

/** Where the block under way began. */
export interface Progress {
  readonly at: number;
  readonly calls: number;
  readonly closingMs: number;
}

const markOf = ({ elapsedMs, stages }: Observation): Progress => ({
  at: elapsedMs,
  calls: stages.reduce((sum, { items, kind }) => sum + (kind === "service" ? items : 0), 0),
  closingMs: stages.find(({ name }) => name === "close")?.busyMs ?? 0,
});

/** Takes an observation in; `pace` is that of the block it ends, if it ends one. */
export const observe = (
  from: Progress | null,
  observation: Observation,
): { readonly progress: Progress; readonly pace: number | null } => {
  const mark = markOf(observation);
  if (from === null) return { progress: mark, pace: null };
  const ms = mark.at - from.at;
  // A sample may come a little early.
  if (ms < 0.9 * BLOCK_MS) return { progress: from, pace: null };
  if (mark.closingMs - from.closingMs > CLOSING * ms) return { progress: mark, pace: null };
  return { progress: mark, pace: (1000 * (mark.calls - from.calls)) / ms };
};
