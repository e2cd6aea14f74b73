/**
 * Generalised advantage estimation over plain arrays, of tokens alone and of turns with their tokens. Every result has the length of its
 * inputs. Invariant: a token with mask 0 neither contributes to nor interrupts the estimate of the tokens around it.
 */

export interface Advantages {
  /** Advantages [tokens]. A masked token has the value carried past it. */
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
 * Bi-level estimation of one sequence of turns. First over turn ends alone (`ends` is not 0), discounted by `gammaTurns`; these returns
 * replace the rewards there. Then by `gamma` within each turn. All arrays are [tokens].
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
    // A turn spans from after the previous end to its own end; estimates never cross it.
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

/** Returns the discounted sum of rewards from each trained token of one sequence on (REINFORCE), masked tokens skipped. [tokens] */
export const returnsToGo = (rewards: ArrayLike<number>, mask: ArrayLike<number>, gamma: number): Float64Array =>
  gae(rewards, new Float64Array(rewards.length), mask, gamma, 1).advantages;
