/**
 * Log-linear proximal policy (AReaL, `prox_logp_method: loglinear`). It places pi_prox between mu and the current policy by a token's age,
 * so that decoupled PPO needs no scoring pass.
 */
import { boundsOf, type TokenBatch } from "../../domain/Batch.ts";
import type { Version } from "../../domain/Episode.ts";
import { clampLogRatio } from "../losses/logRatio.ts";
import type { Correction } from "./correct.ts";

/**
 * Returns alpha, the place of pi_prox between mu (0) and pi (1), of each token; 0 for masked tokens. [tokens]
 *
 *     alpha = (v_prox - v_mu) / (v_pi - v_mu)       log pi_prox ~ log mu + alpha (log pi - log mu)
 *
 * `version` is v_prox, that of the weights at the start of the update. `progress` is the share of the update's optimiser steps already
 * taken, so v_pi = version + progress. A token of the current version has alpha 0, because mu is pi_prox. Before the first step an older
 * token has alpha 1, because pi is pi_prox.
 */
export const logLinearPlaces = (
  { mask, versions }: Pick<TokenBatch, "mask" | "versions">,
  version: Version,
  progress: number,
): Float32Array =>
  Float32Array.from(mask, (trained, t) => {
    const behind = version - versions[t]!;
    return trained === 0 || behind <= 0 ? 0 : behind / (behind + progress);
  });

/**
 * Computes the correction that the log-linear loss applies, from the log-probabilities `logp` before the step. Weights are pi_prox / mu,
 * and 0 above `cap` (0 is off). Tokens of other sequences have mu and weight 1.
 */
export const interpolatedCorrection = (
  batch: Pick<TokenBatch, "mask" | "mu" | "offsets">,
  sequences: readonly number[],
  { cap, logp, places }: { readonly cap: number; readonly logp: Float32Array; readonly places: Float32Array },
): Correction => {
  const old = batch.mu.slice();
  const importance = new Float32Array(old.length).fill(1);
  let capped = 0;
  for (const sequence of sequences) {
    const [from, to] = boundsOf(batch, sequence);
    for (let t = from; t < to; t++) {
      if (batch.mask[t] === 0) continue;
      const shift = places[t]! * clampLogRatio(logp[t]! - batch.mu[t]!);
      const weight = Math.exp(shift);
      const over = cap > 0 && weight > cap;
      if (over) capped++;
      old[t] = batch.mu[t]! + shift;
      importance[t] = over ? 0 : weight;
    }
  }
  return { old, importance, capped };
};
