/**
 * Advantage estimators over plain arrays: generalised advantage estimation, group-relative advantages, whitening and the filter's
 * loss scaling. Every result has the length of its inputs. Invariant: a token with mask 0
 * neither contributes to nor interrupts the estimate of the tokens around it.
 */
import { mean, standardDeviation, sum } from "../domain/Statistics.ts";

export interface Advantages {
  /** [tokens]; at masked tokens the value carried past them. */
  readonly advantages: Float64Array;
  /** advantages + values, [tokens]. */
  readonly returns: Float64Array;
}

/**
 * Generalised advantage estimation (Schulman et al. 2016) of one sequence of tokens, where masked tokens are skipped: the step
 * from a trained token leads to the next trained token. All arrays are [tokens]; the sequence ends in a terminal state of value 0.
 */
export const gae = (
  rewards: ArrayLike<number>,
  values: ArrayLike<number>,
  mask: ArrayLike<number>,
  gamma: number,
  lam: number,
): Advantages => {
  const advantages = new Float64Array(rewards.length);
  const returns = new Float64Array(rewards.length);
  let nextValue = 0;
  let carried = 0;
  for (let t = rewards.length - 1; t >= 0; t--) {
    const value = values[t]!;
    if (mask[t] !== 0) {
      const delta = rewards[t]! + gamma * nextValue - value;
      carried = delta + gamma * lam * carried;
      nextValue = value;
    }
    advantages[t] = carried;
    returns[t] = carried + value;
  }
  return { advantages, returns };
};

/**
 * Bi-level estimation of one sequence of turns: first over the tokens where `ends` is not 0 alone, discounted by `gammaTurns`, whose
 * returns then stand for the rewards of a second estimation by `gamma` within each turn. All arrays are [tokens].
 */
export const biLevelGae = (
  rewards: ArrayLike<number>,
  values: ArrayLike<number>,
  mask: ArrayLike<number>,
  ends: ArrayLike<number>,
  { gamma, gammaTurns, lam }: { readonly gamma: number; readonly gammaTurns: number; readonly lam: number },
): Advantages => {
  const turns = gae(rewards, values, ends, gammaTurns, lam);
  const placed = Float64Array.from(rewards, (reward, t) => (ends[t] === 0 ? reward : turns.returns[t]!));
  const advantages = new Float64Array(rewards.length);
  const returns = new Float64Array(rewards.length);
  let end = rewards.length;
  for (let t = rewards.length - 1; t >= -1; t--) {
    // A turn runs from behind the previous end to its own; estimates never cross it.
    if (t >= 0 && ends[t] === 0) continue;
    const start = t + 1;
    const part = (array: ArrayLike<number>) => Float64Array.from({ length: end - start }, (_, i) => array[start + i]!);
    const estimate = gae(part(placed), part(values), part(mask), gamma, lam);
    advantages.set(estimate.advantages, start);
    returns.set(estimate.returns, start);
    end = start;
  }
  return { advantages, returns };
};

/** (A - mean) / sqrt(variance + 1e-8) over the tokens with mask 1, with the unbiased variance; 0 elsewhere. [tokens] */
export const whiten = (values: ArrayLike<number>, mask: ArrayLike<number>): Float64Array => {
  const whitened = new Float64Array(values.length);
  let count = 0;
  let sum = 0;
  for (let t = 0; t < values.length; t++) {
    if (mask[t] === 0) continue;
    count++;
    sum += values[t]!;
  }
  const mean = sum / Math.max(1, count);
  let squares = 0;
  for (let t = 0; t < values.length; t++) if (mask[t] !== 0) squares += (values[t]! - mean) ** 2;
  const scale = 1 / Math.sqrt(squares / Math.max(1, count - 1) + 1e-8);
  for (let t = 0; t < values.length; t++) if (mask[t] !== 0) whitened[t] = (values[t]! - mean) * scale;
  return whitened;
};

/** The scores of each group, by group id, in their order. */
const byGroup = (scores: ArrayLike<number>, groups: ArrayLike<number>): ReadonlyMap<number, readonly number[]> => {
  const members = new Map<number, number[]>();
  for (let i = 0; i < scores.length; i++) {
    const group = members.get(groups[i]!);
    if (group === undefined) members.set(groups[i]!, [scores[i]!]);
    else group.push(scores[i]!);
  }
  return members;
};

/** `of` each score and what was made of its group. [sequences] */
const relative = <Statistics>(
  scores: ArrayLike<number>,
  groups: ArrayLike<number>,
  make: (scores: readonly number[]) => Statistics,
  of: (score: number, group: Statistics) => number,
): Float64Array => {
  const statistics = new Map(Array.from(byGroup(scores, groups), ([group, members]) => [group, make(members)]));
  return Float64Array.from({ length: scores.length }, (_, i) => of(scores[i]!, statistics.get(groups[i]!)!));
};

/**
 * Group-relative advantages (GRPO, Shao et al. 2024): (s - mean) / (std + 1e-6) within each group, with the unbiased standard
 * deviation; without the division this is Dr.GRPO (Liu et al. 2025). A group of one keeps its score. All arrays are [sequences].
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

/** Leave-one-out advantages (RLOO, Ahmadian et al. 2024): s minus the mean of the group's others; alone, s. [sequences] */
export const leaveOneOut = (scores: ArrayLike<number>, groups: ArrayLike<number>): Float64Array =>
  relative(
    scores,
    groups,
    (members) => ({ count: members.length, total: sum(members) }),
    (score, { count, total }) => (count === 1 ? score : score - (total - score) / (count - 1)),
  );

/** Discounted reward to come from each trained token of one sequence (REINFORCE), masked tokens skipped. [tokens] */
export const returnsToGo = (rewards: ArrayLike<number>, mask: ArrayLike<number>, gamma: number): Float64Array =>
  gae(rewards, new Float64Array(rewards.length), mask, gamma, 1).advantages;

/** Factor on the advantages when the filter kept only a share of the window's groups. */
export const filterLossScale = (scaling: "none" | "linear" | "sqrt", keptRatio: number): number =>
  scaling === "none" ? 1 : scaling === "linear" ? keptRatio : Math.sqrt(keptRatio);
