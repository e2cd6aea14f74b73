/**
 * When a window asks for more groups, and how many: dynamic sampling as in DAPO (Yu et al. 2025, section 3.2), bounded. Pure. Invariants: a
 * window asks at most `rounds` times, and only while its filter kept fewer groups than `target`; what it trains on is at most `target`
 * groups, those with the smallest numbers.
 */
import type { RunConfig } from "../../config/RunConfig.ts";

export type RefillRule = RunConfig["filter"]["refill"];

export interface RefillRequest {
  /** Groups to play. */
  readonly groups: number;
  /** Why, in words. */
  readonly reason: string;
}

/** Whether windows ask at all. */
export const isOn = ({ target }: RefillRule): boolean => target > 0;

/**
 * What a window asks for; null where it has enough, or has asked often enough and is trained on as it is.
 * @param rounds how often it asked before
 * @param kept groups that the filter kept of the whole of it
 * @param all groups of the whole of it
 */
export const nextRefill = (
  { batch, rounds: most, target }: RefillRule,
  rounds: number,
  kept: number,
  all: number,
): RefillRequest | null => {
  const missing = target - kept;
  if (missing <= 0 || rounds >= most) return null;
  return {
    groups: batch > 0 ? batch : missing,
    reason: `the filter kept ${kept} of ${all} groups, ${missing} short of ${target}`,
  };
};

/** What is trained on of the groups that were kept, in their order; all of them where windows do not ask. */
export const withoutSurplus = <A>({ target }: RefillRule, kept: readonly A[]): readonly A[] =>
  target > 0 ? kept.slice(0, target) : kept;
