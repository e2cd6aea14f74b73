/**
 * Advantages of episodes relative to others of their group, or of the whole batch if all have one group id. Every array has one number per
 * episode, so that an episode counts once however many sequences it has.
 */
import { mean, standardDeviation, sum } from "../../domain/Statistics.ts";

/** Returns `make` of the scores of each group, by group id, in the order in which groups first appear. */
const perGroup = <Statistics>(
  scores: ArrayLike<number>,
  groups: ArrayLike<number>,
  make: (scores: readonly number[]) => Statistics,
): ReadonlyMap<number, Statistics> => {
  const members = new Map<number, number[]>();
  for (let i = 0; i < scores.length; i++) {
    const group = members.get(groups[i]!);
    if (group === undefined) members.set(groups[i]!, [scores[i]!]);
    else group.push(scores[i]!);
  }
  return new Map(Array.from(members, ([group, scores]) => [group, make(scores)]));
};

/** Returns `compare` of each score and the statistics of its group. [episodes] */
const relative = <Statistics>(
  scores: ArrayLike<number>,
  groups: ArrayLike<number>,
  make: (scores: readonly number[]) => Statistics,
  compare: (score: number, group: Statistics) => number,
): Float64Array => {
  const statistics = perGroup(scores, groups, make);
  return Float64Array.from({ length: scores.length }, (_, i) => compare(scores[i]!, statistics.get(groups[i]!)!));
};

/**
 * Group-relative advantages (GRPO, Shao et al. 2024): (s - mean) / (std + 1e-6) within each group, with the unbiased standard deviation.
 * Without the division it is Dr.GRPO (Liu et al. 2025). A group of one keeps its score. All arrays are [episodes].
 */
export const groupRelative = (
  scores: ArrayLike<number>,
  groups: ArrayLike<number>,
  normaliseByStd: boolean,
): Float64Array =>
  relative(
    scores,
    groups,
    (members) => ({ mean: mean(members), std: standardDeviation(members), alone: members.length === 1 }),
    (score, { alone, mean, std }) => {
      const centred = alone ? score : score - mean;
      return normaliseByStd ? centred / ((alone ? 1 : std) + 1e-6) : centred;
    },
  );

/** The same with the whole batch as one group (BRPO of early RAGEN, Wang et al. 2025). All arrays are [episodes]. */
export const batchRelative = (scores: ArrayLike<number>, normaliseByStd: boolean): Float64Array =>
  groupRelative(scores, new Uint8Array(scores.length), normaliseByStd);

/** Leave-one-out advantages (RLOO, Ahmadian et al. 2024): s minus the mean of the group's others; alone, s. [episodes] */
export const leaveOneOut = (scores: ArrayLike<number>, groups: ArrayLike<number>): Float64Array =>
  relative(
    scores,
    groups,
    (members) => ({ count: members.length, total: sum(members) }),
    (score, { count, total }) => (count === 1 ? score : score - (total - score) / (count - 1)),
  );

/**
 * Weights of soft reweighting by reward spread (RAGEN-2, 2026): std / (largest std + 1e-6) of each group, by group id. The deviations are
 * GRPO's, of undivided scores; that of a group of one is 1.
 */
export const softWeights = (scores: ArrayLike<number>, groups: ArrayLike<number>): ReadonlyMap<number, number> => {
  const spreads = perGroup(scores, groups, (members) => (members.length === 1 ? 1 : standardDeviation(members)));
  const largest = Math.max(0, ...spreads.values());
  return new Map(Array.from(spreads, ([group, spread]) => [group, spread / (largest + 1e-6)]));
};
