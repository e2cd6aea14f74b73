/** Blocks of about a second, each between two readings of the gauges. Time in which a step validates or saves belongs to no block. */
import type { StageSample } from "../../flow/Gauge.ts";

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

const closingMs = ({ stages }: Observation): number => stages.find(({ name }) => name === "close")?.busyMs ?? 0;

/** Names the time that an observation ends: a block that counts, or one that closing took too much of; null for none yet. */
export const ends = (from: Observation, to: Observation): "block" | "closing" | null => {
  const ms = to.elapsedMs - from.elapsedMs;
  // A sample may come a little early.
  if (ms < 0.9 * BLOCK_MS) return null;
  return closingMs(to) - closingMs(from) > CLOSING * ms ? "closing" : "block";
};
