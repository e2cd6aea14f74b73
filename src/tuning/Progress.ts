/**
 * The pace of a run, block by block: calls answered per second in async, where work never pauses; windows per second where rollouts and
 * updates take turns, so that a block is a whole number of turns. Time in which a step validates or saves belongs to no block.
 */
import type { StageSample } from "../stage/Gauge.ts";

/** All gauges at one moment, and when windows were consumed. */
export interface Observation {
  /** Milliseconds since the run started. */
  readonly elapsedMs: number;
  readonly stages: readonly StageSample[];
  /** When each window so far was consumed, on the same clock. */
  readonly consumedAt: readonly number[];
}

/** Shortest block, milliseconds. */
const BLOCK_MS = 1000;
/** Share of a block that the closing stage may take. */
const CLOSING = 0.2;

export interface Progress {
  readonly phased: boolean;
  /** Where the block under way began; null before the first. */
  readonly start: Mark | null;
}

interface Mark {
  readonly at: number;
  readonly calls: number;
  readonly windows: number;
  readonly closingMs: number;
}

export const start = (mode: "lockstep" | "sync" | "async"): Progress => ({ phased: mode !== "async", start: null });

const markOf = ({ consumedAt, elapsedMs, stages }: Observation, phased: boolean): Mark => ({
  at: phased ? (consumedAt.at(-1) ?? 0) : elapsedMs,
  calls: stages.reduce((sum, { items, kind }) => sum + (kind === "service" ? items : 0), 0),
  windows: consumedAt.length,
  closingMs: stages.find(({ name }) => name === "close")?.busyMs ?? 0,
});

/** Takes an observation in; `pace` is that of the block it ends, if it ends one. Work goes by the second. */
export const observe = (
  progress: Progress,
  observation: Observation,
): { readonly progress: Progress; readonly pace: number | null } => {
  const { phased, start: from } = progress;
  const mark = markOf(observation, phased);
  const next = { ...progress, start: mark };
  if (from === null) return { progress: next, pace: null };
  const ms = mark.at - from.at;
  if (ms < BLOCK_MS) return { progress, pace: null };
  if (mark.closingMs - from.closingMs > CLOSING * ms) return { progress: next, pace: null };
  const work = phased ? mark.windows - from.windows : mark.calls - from.calls;
  return { progress: next, pace: (1000 * work) / ms };
};
