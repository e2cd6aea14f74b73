/**
 * The coefficient of the divergence in the reward, as a pure state machine: fixed, or adaptive (Ziegler et al. 2019, section 2.2), which
 * follows the measured divergence to a target. Invariant: a coefficient above 0 stays above 0.
 */
import type { RunConfig } from "../config/RunConfig.ts";

export type KlControl = RunConfig["algorithm"]["kl_ctrl"];

/** Bound of the relative error that one window may move the coefficient by. */
const ERROR_BOUND = 0.2;

/**
 * The coefficient for the next window: with `kl` nats per token measured over `sequences` of them, beta (1 + clip(kl / target - 1, ±0.2)
 * min(1, sequences / horizon)). A divergence that is not finite changes nothing.
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
