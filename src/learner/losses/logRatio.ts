/**
 * Ratios of probabilities from log-probabilities, as a tensor graph and as numbers. Invariant: a log ratio is clamped to ±20 before it is
 * exponentiated, so that no outlier overflows.
 */
import { clip, exp } from "../../model/tensor/Elementwise.ts";
import type { Tensor } from "../../model/tensor/Graph.ts";

export const LOG_RATIO_BOUND = 20;

/** Clamps a log ratio to the bound, nats. */
export const clampLogRatio = (logRatio: number): number =>
  Math.max(-LOG_RATIO_BOUND, Math.min(LOG_RATIO_BOUND, logRatio));

/** Returns exp(clamp(log ratio, ±20)) of each element. */
export const clampedRatio = (logRatio: Tensor): Tensor => exp(clip(logRatio, -LOG_RATIO_BOUND, LOG_RATIO_BOUND));
