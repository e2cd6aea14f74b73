/**
 * Refills: when a window asks for more groups, and for how many. It is dynamic sampling as in DAPO (Yu et al. 2025, section 3.2), bounded.
 * Pure. Invariants: a window asks at most `rounds` times, and only while its filter kept fewer than `target` groups; it trains on at most
 * `target` groups, those with the smallest numbers.
 */
import type { RunConfig } from "../../config/RunConfig.ts";

export type RefillRule = RunConfig["filter"]["refill"];

export interface RefillRequest {
  /** Groups to play. */
  readonly groups: number;
  /** Why, in words. */
  readonly reason: string;
}

/** True if windows ask for refills at all. */
export const isOn = ({ target }: RefillRule): boolean => target > 0;

/**
 * The next refill of a window; null if it has enough groups, or has asked `rounds` times and trains as it is.
 * @param rounds refills of the window so far
 * @param kept groups of the whole window that the filter kept
 * @param all groups of the whole window
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

/** The kept groups that are trained on, in their order; all of them where refills are off. */
export const withoutSurplus = <A>({ target }: RefillRule, kept: readonly A[]): readonly A[] =>
  target > 0 ? kept.slice(0, target) : kept;
