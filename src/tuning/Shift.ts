/** Whether the run has changed under unchanged settings: the newest blocks against all since the last change. */
import { standardDeviation } from "../domain/Statistics.ts";
import * as Paces from "./Paces.ts";

/** Blocks that are held against the reference, and how many that has at least. */
const NEWEST = 8;
const REFERENCE = 12;
/** Least change that counts, and in standard errors of the newest blocks' mean. */
const SHARE = 0.25;
const ERRORS = 4;

export const shifted = (paces: readonly number[]): boolean => {
  if (paces.length < NEWEST + REFERENCE) return false;
  const reference = paces.slice(0, -NEWEST);
  const before = Paces.of(reference);
  const after = Paces.of(paces.slice(-NEWEST));
  // Blocks that follow one another are alike: their mean errs more than so many draws would.
  const noise = standardDeviation(reference) / Math.sqrt(NEWEST / 2);
  return Math.abs(after.mean - before.mean) > Math.max(SHARE * before.mean, ERRORS * noise);
};
