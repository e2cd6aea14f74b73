/**
 * Off-policy corrections: which log-probability the ratio is taken against, and the importance weight of each token, from the
 * batch's mu and, where a correction asks for it, the log-probability re-scored at the start of the update (pi_prox).
 */
import type { RunConfig } from "../config/RunConfig.ts";
import type { TokenBatch } from "../domain/Batch.ts";
import { LOG_RATIO_BOUND } from "./losses/logRatio.ts";

export interface Correction {
  readonly old: Float32Array;
  readonly importance: Float32Array;
  /** Trained tokens whose weight the cap changed. */
  readonly capped: number;
}

type Algorithm = Pick<RunConfig["algorithm"], "correction" | "correction_cap">;

/**
 * - `none`: clipped PPO against mu, weight 1; `proximal` is not needed.
 * - `decoupled` (decoupled PPO, Hilton et al. 2022, as in AReaL): ratio against pi_prox, weight pi_prox / mu; a token above the
 *   cap has weight 0.
 * - `tis` (truncated importance sampling): the same with the weight cut at the cap.
 *
 * A cap of 0 is off. All arrays are [tokens].
 */
export const correct = (
  batch: Pick<TokenBatch, "mu" | "mask">,
  proximal: Float32Array | undefined,
  { correction, correction_cap: cap }: Algorithm,
): Correction => {
  const importance = new Float32Array(batch.mu.length).fill(1);
  if (correction === "none" || proximal === undefined) return { old: batch.mu, importance, capped: 0 };
  let capped = 0;
  batch.mask.forEach((trained, t) => {
    if (trained === 0) return;
    const difference = proximal[t]! - batch.mu[t]!;
    const weight = Math.exp(Math.max(-LOG_RATIO_BOUND, Math.min(LOG_RATIO_BOUND, difference)));
    const over = cap > 0 && weight > cap;
    if (over) capped++;
    importance[t] = over ? (correction === "tis" ? cap : 0) : weight;
  });
  return { old: proximal, importance, capped };
};
