/** Paces of some blocks, compared with regard to their noise. */
import { mean } from "../domain/Statistics.ts";

export interface Paces {
  readonly mean: number;
  /** Standard error of the mean. A few blocks may be alike by chance: one is taken to err by a tenth at least. */
  readonly error: number;
  readonly count: number;
}

/** Least spread of blocks, as a share of their mean. */
const SPREAD = 0.1;

export const of = (paces: readonly number[]): Paces => {
  const count = paces.length;
  if (count === 0) return { mean: 0, error: Number.POSITIVE_INFINITY, count };
  const centre = mean(paces);
  const squares = paces.reduce((sum, pace) => sum + (pace - centre) ** 2, 0);
  const error = Math.sqrt(squares / Math.max(1, count - 1) / count);
  return { mean: centre, error: Math.max(error, (SPREAD * centre) / Math.sqrt(count)), count };
};

export interface Change {
  /** Share of the pace before. */
  readonly gain: number;
  /** Its standard error. */
  readonly error: number;
}

export const change = (before: Paces, after: Paces): Change =>
  before.mean > 0
    ? {
        gain: after.mean / before.mean - 1,
        error: Math.hypot(before.error, after.error) / before.mean,
      }
    : { gain: after.mean > 0 ? 1 : 0, error: 0 };
