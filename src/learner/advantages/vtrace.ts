/**
 * V-trace (Espeholt et al. 2018, IMPALA, section 4.1) with the turns of an episode as its steps. It estimates the current policy's values
 * from episodes of older weights. Invariant: if no token's probability has changed, it is TD(lambda) over turns.
 */
import { turnsIn } from "../../domain/BatchUnits.ts";
import { meanRatio, type RatioMean } from "../corrections/ratios.ts";
import type { Advantages } from "./gae.ts";

export interface VTraceOptions {
  /** Discount from one turn to the next; none within a turn. */
  readonly gammaTurns: number;
  readonly lam: number;
  /** Bound on the ratio that weighs a turn's own error. It decides which policy the values belong to. */
  readonly rhoBar: number;
  /** Bound on the ratio that weighs the errors of later turns. It decides how fast values change. */
  readonly cBar: number;
  readonly mean: RatioMean;
}

/**
 * Returns targets (`returns`) and unweighted advantages of every trained token; masked tokens have 0. `rewards`, `values` and `logRatios`
 * (log pi_prox - log mu) are [tokens]. `mask` marks the trained tokens; a run of them is a turn.
 *
 * A turn is one step of a decision process. Its state x_k is the text before reply k, its action the whole reply y_k, its reward r_k the sum
 * over the turn's tokens. A reply has probability prod_t pi(y_t | ...), so a turn's ratio pi_k / mu_k is the product of its tokens' ratios.
 * With rho_k = min(rhoBar, pi_k / mu_k), c_k = lam min(cBar, pi_k / mu_k), V_k = V(x_k), and V = 0 after the end:
 *
 *     vs_k = V_k + sum_{j >= k} g^{j - k} (prod_{i = k}^{j - 1} c_i) rho_j (r_j + g V_{j+1} - V_j)
 *          = V_k + rho_k (r_k + g V_{k+1} - V_k) + g c_k (vs_{k+1} - V_{k+1}).
 *
 * The fixed point is the value of the policy over replies that is proportional to min(rhoBar mu, pi). `geometric` takes the mean of the log
 * ratios instead of their sum; it has less variance on long replies and no known fixed point.
 *
 * The targets of single tokens follow from this. Before token t of reply k, the rest of the reply is an action by itself: its reward R_t and
 * its ratio are those of the tokens from t on. So the target of t is the line above with rho_t, c_t, R_t and V_t; at the first token it is vs_k.
 *
 * The policy gradient of a turn, rho_k grad log pi(y_k | x_k) (r_k + g vs_{k+1} - V_k), is a sum over the reply's tokens. Rewards before t and
 * any function of the text before t may be subtracted from a term; this adds no bias where rho_k is not cut. So token t has
 *
 *     advantage_t = R_t + g vs_{k+1} - V_t
 *
 * and the turn's weight rho_k. The weight is left out here and becomes the token's importance weight in the loss (`correct`), because
 * whitening a weighted advantage would give tokens of weight 0 a gradient.
 */
export const vtrace = (
  rewards: ArrayLike<number>,
  values: ArrayLike<number>,
  logRatios: ArrayLike<number>,
  mask: ArrayLike<number>,
  { gammaTurns, lam, rhoBar, cBar, mean }: VTraceOptions,
): Advantages => {
  const advantages = new Float64Array(rewards.length);
  const returns = new Float64Array(rewards.length);
  let [nextValue, nextTarget] = [0, 0];
  for (const [first, last] of turnsIn(mask).toReversed()) {
    let [reward, logRatio] = [0, 0];
    for (let t = last; t >= first; t--) {
      reward += rewards[t]!;
      logRatio += logRatios[t]!;
      const ratio = meanRatio(logRatio, last - t + 1, mean);
      const value = values[t]!;
      const error = Math.min(rhoBar, ratio) * (reward + gammaTurns * nextValue - value);
      returns[t] = value + error + gammaTurns * lam * Math.min(cBar, ratio) * (nextTarget - nextValue);
      advantages[t] = reward + gammaTurns * nextTarget - value;
    }
    [nextValue, nextTarget] = [values[first]!, returns[first]!];
  }
  return { advantages, returns };
};
