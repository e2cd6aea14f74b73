/**
 * Decoupled PPO with the log-linear proximal policy, as a tensor graph over target tokens. pi_prox lies between mu and the current policy.
 * Invariant: no gradient passes through pi_prox.
 */
import { add, clip, exp, less, mul, stopGradient, sub, where } from "../../model/tensor/Elementwise.ts";
import type { Tensor } from "../../model/tensor/Graph.ts";
import { LOG_RATIO_BOUND } from "./logRatio.ts";

export interface LogLinear {
  /** Importance weights above the cap become 0; a cap of 0 is off. */
  readonly cap: number;
}

export interface LogLinearInputs {
  /** Log-probability under the policy in training. */
  readonly logp: Tensor;
  readonly mu: Tensor;
  /** alpha, the place of pi_prox between mu (0) and the policy (1). */
  readonly places: Tensor;
}

/**
 * Returns `old`, log mu + alpha (log pi - log mu), and `importance`, pi_prox / mu = (pi / mu)^alpha. The log ratio is clamped to ±20. All
 * tensors have one shape.
 */
export const logLinear = (
  { logp, mu, places }: LogLinearInputs,
  { cap }: LogLinear,
): { readonly old: Tensor; readonly importance: Tensor } => {
  const difference = clip(sub(stopGradient(logp), mu), -LOG_RATIO_BOUND, LOG_RATIO_BOUND);
  const shift = mul(places, difference);
  const ratio = exp(shift);
  return { old: add(mu, shift), importance: cap === 0 ? ratio : where(less(cap, ratio), 0, ratio) };
};
