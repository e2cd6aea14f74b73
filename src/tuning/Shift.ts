/** Whether the services have changed under unchanged settings: their newest blocks against all since the last change. */
import { standardDeviation } from "../domain/Statistics.ts";
import * as Paces from "./Paces.ts";
import type { StageLoad } from "./StageLoad.ts";

/** Blocks that are held against the reference, and how many that has at least. */
const NEWEST = 6;
const REFERENCE = 10;
/** Least change that counts, and in standard errors of the newest blocks' mean. */
const SHARE = 0.35;
const ERRORS = 5;
/** Calls that a block needs to count. */
const CALLS = 5;

/** Calls that one busy slot answers in a second, block by block. */
export const rates = (loads: readonly StageLoad[]): readonly number[] =>
  loads.filter(({ items }) => items >= CALLS).map(({ serviceMs }) => 1000 / serviceMs);

export const shifted = (all: readonly number[]): boolean => {
  if (all.length < NEWEST + REFERENCE) return false;
  const reference = all.slice(0, -NEWEST);
  const before = Paces.of(reference);
  const after = Paces.of(all.slice(-NEWEST));
  // Blocks that follow one another are alike: their mean errs more than so many draws would.
  const noise = standardDeviation(reference) / Math.sqrt(NEWEST / 2);
  return Math.abs(after.mean - before.mean) > Math.max(SHARE * before.mean, ERRORS * noise);
};
