/**
 * Coefficient of the KL divergence in the reward: fixed, or adaptive (Ziegler et al. 2019, section 2.2), which moves the measured
 * divergence to a target. Invariant: a coefficient above 0 stays above 0.
 */
import type { RunConfig } from "../config/RunConfig.ts";

export type KlControl = RunConfig["algorithm"]["kl_ctrl"];

/** Bound on the relative error by which one window may move the coefficient. */
const ERROR_BOUND = 0.2;

/**
 * Returns the coefficient for the next window: beta (1 + clip(kl / target - 1, ±0.2) min(1, sequences / horizon)). `kl` is the mean of this
 * window's `sequences`, nats per token. A divergence that is not finite changes nothing.
 */
export const next = (
  { horizon, target_kl, type }: KlControl,
  coefficient: number,
  { kl, sequences }: { readonly kl: number; readonly sequences: number },
): number => {
  if (type === "fixed" || !Number.isFinite(kl)) return coefficient;
  const error = Math.max(-ERROR_BOUND, Math.min(ERROR_BOUND, kl / target_kl - 1));
  return coefficient * (1 + error * Math.min(1, sequences / horizon));
};
