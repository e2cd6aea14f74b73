/**
 * A machine in virtual time: how long its threads compute for a decode step, a prefill, a turn, an environment's step and an update, each
 * alone, and how much threads slow each other down. Milliseconds throughout.
 */
import type { Slowdown } from "../Cores.ts";

export interface Machine {
  /** Threads that compute at once; more share them evenly. */
  readonly cores: number;
  readonly decode: {
    readonly step: number;
    readonly row: number;
    /** Time of a row for each row beside it, since caches no longer fit near the core. */
    readonly crowding: number;
  };
  readonly prefill: { readonly step: number; readonly token: number };
  /** Prompt tokens that are computed; the others are copied from a prefix that the group shares. */
  readonly fedShare: number;
  /** Time of the main thread for a turn: parsing, rendering, hand-overs. */
  readonly turn: number;
  /** A step of an environment, drawn from these. */
  readonly steps: readonly number[];
  /** Share of such a step in which it computes; it waits for the rest. */
  readonly stepComputes: number;
  readonly update: {
    /** Time of a padded token with one lane, by `actor.micro_batch_tokens`. */
    readonly token: ReadonlyMap<number, number>;
    /** Time of a pass while so many lanes compute over that with one, both without other threads. */
    readonly lanes: ReadonlyMap<number, number>;
  };
  /** Time of a window beside the threads' work: scoring and filtering before its update, weights and records after it. */
  readonly window: number;
  /** The part of `window` that keeps the learner from the next window where generation goes on. */
  readonly handover: number;
  readonly slowdown: Slowdown;
}

/** The value at `at`, linear between the known ones and the nearest one's outside of them. */
export const between = (samples: ReadonlyMap<number, number>, at: number, scale: (at: number) => number): number => {
  const points = [...samples].sort(([a], [b]) => a - b);
  const above = points.findIndex(([x]) => x >= at);
  const [low, high] = above === -1 ? [points.at(-1), points.at(-1)] : [points[Math.max(0, above - 1)], points[above]];
  if (low === undefined || high === undefined) throw new RangeError("nothing is known to look between");
  if (low[0] === high[0] || at <= low[0]) return low[1];
  const part = (scale(at) - scale(low[0])) / (scale(high[0]) - scale(low[0]));
  return low[1] + part * (high[1] - low[1]);
};

/** Time of a padded token of a pass while so many lanes compute, without other threads. Beyond those that were measured, each shares what they had. */
export const updateOf = ({ update }: Machine, lanes: number, microBatchTokens: number): number => {
  const most = Math.max(...update.lanes.keys());
  const slower = between(update.lanes, lanes, (count) => count) * Math.max(1, lanes / most);
  return between(update.token, microBatchTokens, Math.log) * slower;
};

export const decodeOf = ({ decode: { crowding, row, step } }: Machine, rows: number): number =>
  step + rows * (row + crowding * rows);

export const prefillOf = ({ prefill: { step, token } }: Machine, tokens: number): number => step + token * tokens;
