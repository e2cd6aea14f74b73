/**
 * The `within_group` strategy keeps every group, and trains on the k episodes of each that differ most in score. Pure. Invariants: the
 * chosen have the largest unbiased variance of all subsets of their size; their order is the group's.
 *
 * Such a subset is the j lowest and the k - j highest scores for some j, so there are k + 1 candidates. RAGEN's rebuttal experiments use
 * this to tell signal from the choice of prompts.
 */
import type { ScoredGroup } from "../../domain/Group.ts";
import { standardDeviation } from "../../domain/Statistics.ts";
import { roundHalfEven } from "./select.ts";

/** Episodes kept of `members`: the share, rounded, at least one. */
export const keptCount = (members: number, share: number): number =>
  Math.min(members, Math.max(1, roundHalfEven(share * members)));

/** Ascending indices of the k scores with the largest variance; of equal ones those with the fewest low scores, ties by index. */
export const mostVaried = (scores: readonly number[], k: number): readonly number[] => {
  const rising = scores.map((_, index) => index).sort((a, b) => scores[a]! - scores[b]! || a - b);
  if (k >= scores.length) return rising.sort((a, b) => a - b);
  let [best, bestSpread]: [readonly number[], number] = [[], -1];
  for (let low = 0; low <= k; low++) {
    const chosen = [...rising.slice(0, low), ...rising.slice(scores.length - (k - low))];
    const spread = k < 2 ? 0 : standardDeviation(chosen.map((index) => scores[index]!));
    if (spread > bestSpread) [best, bestSpread] = [chosen, spread];
  }
  return best.toSorted((a, b) => a - b);
};

/** The group with the chosen of its episodes; the others leave the loss. */
export const trimGroup = (group: ScoredGroup, share: number): ScoredGroup => {
  const { episodes } = group;
  const chosen = new Set(
    mostVaried(
      episodes.map(({ score }) => score),
      keptCount(episodes.length, share),
    ),
  );
  return chosen.size === episodes.length ? group : { ...group, episodes: episodes.filter((_, i) => chosen.has(i)) };
};
