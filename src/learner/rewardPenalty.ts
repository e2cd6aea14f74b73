/**
 * The KL divergence from the reference policy as a part of the reward (Ziegler et al. 2019), instead of a term of the loss. Invariant: only
 * sampled tokens are penalised, because an estimate of the divergence needs samples of the policy.
 */
import { allSequences, boundsOf, isSampled, type TokenBatch } from "../domain/Batch.ts";
import { mean } from "../domain/Statistics.ts";
import { type KlValue, klOf } from "./losses/klEstimate.ts";

export interface PenalisedRewards {
  /** Rewards less coefficient times the estimate of KL(mu || reference) at each sampled token, [tokens]. */
  readonly rewards: Float32Array;
  /** Mean over sequences of their mean estimate per sampled token, nats per token; 0 for a batch without samples. */
  readonly kl: number;
}

/** `reference` are the log-probabilities under the reference policy, [tokens]. */
export const penaliseRewards = (
  batch: TokenBatch,
  reference: Float32Array,
  { coefficient, type }: { readonly coefficient: number; readonly type: KlValue },
): PenalisedRewards => {
  const rewards = batch.rewards.slice();
  const means: number[] = [];
  for (const sequence of allSequences(batch)) {
    const [from, to] = boundsOf(batch, sequence);
    let sum = 0;
    let sampled = 0;
    for (let t = from; t < to; t++) {
      if (!isSampled(batch, t)) continue;
      const kl = klOf(batch.mu[t]!, reference[t]!, type);
      rewards[t] = batch.rewards[t]! - coefficient * kl;
      sum += kl;
      sampled++;
    }
    if (sampled > 0) means.push(sum / sampled);
  }
  return { rewards, kl: means.length === 0 ? 0 : mean(means) };
};
