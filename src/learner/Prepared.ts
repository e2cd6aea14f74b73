/** What the networks say of a window before credit is assigned. */
import type { RunConfig } from "../config/RunConfig.ts";
import type { TokenBatch } from "../domain/Batch.ts";

export interface Prepared {
  /** Critic values at every position, [tokens]; zeros without a critic. */
  readonly values: Float32Array;
  /** Rewards that credit is assigned from, [tokens]: less the divergence from the reference policy where that is a part of them. */
  readonly rewards: Float32Array;
  /** Log-probability of each trained id under the weights that the window is trained from, where credit corrects by it, [tokens]. */
  readonly proximal?: Float32Array;
}

/** What needs no network: of an algorithm without a critic and without a divergence in the reward; null of any other. */
export const withoutNetworks = (
  { adv_estimator, use_kl_in_reward }: RunConfig["algorithm"],
  { ids, rewards }: TokenBatch,
): Prepared | null =>
  adv_estimator === "gae" || use_kl_in_reward ? null : { values: new Float32Array(ids.length), rewards };
