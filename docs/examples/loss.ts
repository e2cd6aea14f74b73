/**
 * A policy loss of your own: SAPO (Gao et al. 2025, "Soft Adaptive Policy Optimization", equation 5), which fades a token's gradient out where
 * PPO would cut it off. With the ratio r it is -A 4/τ sigmoid(τ (r - 1)); its gradient at r = 1 is PPO's. algorithm.ts trains with it.
 */
import { clampedRatio, defineLoss, div, greater, mul, neg, sigmoid, sub, where } from "millrace/learner";

/** Temperatures of tokens with positive and with other advantages: a larger one fades out sooner. */
const [positive, negative] = [1, 1.05];

export default defineLoss({
  surrogate: ({ advantages, logp, old }) => {
    const ratio = clampedRatio(sub(logp, old));
    const temperature = where(greater(advantages, 0), positive, negative);
    const gate = mul(sigmoid(mul(temperature, sub(ratio, 1))), div(4, temperature));
    return neg(mul(advantages, gate));
  },
});
