/**
 * Off-policy corrections. They choose the log-probability that the surrogate's ratio is taken against, and the importance weight of each
 * token, from mu and pi_prox.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { TokenBatch } from "../../domain/Batch.ts";
import { type RatioUnit, ratiosOf } from "./ratios.ts";

export type CorrectionName = RunConfig["algorithm"]["correction"];
type Algorithm = Pick<
  RunConfig["algorithm"],
  "correction" | "correction_cap" | "correction_floor" | "correction_ratio" | "vtrace_rho_bar"
>;

/** The way a correction turns ratios into weights. */
interface Rule {
  /** The tokens that share one ratio. */
  readonly unit: RatioUnit;
  /** Weight of a ratio above the cap: the cap, or 0. */
  readonly above: "cut" | "drop";
  /** True if a ratio below the floor has weight 0. */
  readonly floored: boolean;
  /** Weight of a ratio within the bounds: the ratio, or 1. */
  readonly within: "ratio" | "one";
}

/**
 * Each rule gives a token its weight w. pi_prox is the policy at the start of the update; the surrogate takes r = pi / pi_prox. R is the
 * product of the token ratios of a sequence or turn, or their geometric mean.
 *
 * - `decoupled`, token: w = pi_prox / mu, 0 above the cap. Decoupled PPO (Hilton et al. 2022), as in AReaL (Fu et al. 2025).
 * - `tis`, token: w = min(pi_prox / mu, cap). Truncated importance sampling (Ionides 2008; Yao et al. 2025).
 * - `icepop`, token: w = pi_prox / mu within [floor, cap], else 0. IcePop (Ling team 2025).
 * - `seq_tis`, sequence: w = min(R, cap). Sequence-level truncated importance sampling (Liu et al. 2025).
 * - `seq_mask`, sequence: w = R within [floor, cap], else 0.
 * - `seq_reject`, sequence: w = 1 within [floor, cap], else 0. With the geometric mean it is that of Li et al. 2025.
 * - `vtrace`, turn: w = min(rho_bar, R), the rho of V-trace (Espeholt et al. 2018). `vtrace` computes its targets.
 */
const rules: Readonly<Record<Exclude<CorrectionName, "none" | "loglinear">, Rule>> = {
  decoupled: { unit: "token", above: "drop", floored: false, within: "ratio" },
  tis: { unit: "token", above: "cut", floored: false, within: "ratio" },
  icepop: { unit: "token", above: "drop", floored: true, within: "ratio" },
  seq_tis: { unit: "sequence", above: "cut", floored: false, within: "ratio" },
  seq_mask: { unit: "sequence", above: "drop", floored: true, within: "ratio" },
  seq_reject: { unit: "sequence", above: "drop", floored: true, within: "one" },
  vtrace: { unit: "turn", above: "cut", floored: false, within: "ratio" },
};

/** True if the correction needs pi_prox before the first step of an update, which costs one more pass over the window. */
export const needsProximal = (correction: CorrectionName): boolean =>
  correction !== "none" && correction !== "loglinear";

export interface Correction {
  /** Log-probability that the ratio of the surrogate is taken against, [tokens]. */
  readonly old: Float32Array;
  /** Importance weight, a constant of the loss; 1 where there is nothing to correct, [tokens]. */
  readonly importance: Float32Array;
  /** Trained tokens whose weight a bound changed. */
  readonly capped: number;
}

/**
 * Returns the correction of a batch; all arrays are [tokens] and a cap of 0 is off. `none` and `loglinear` take the ratio against mu with
 * weight 1 and need no `proximal`. `loglinear` interpolates pi_prox within each step instead (`logLinearPlaces`).
 */
export const correct = (
  batch: Pick<TokenBatch, "mu" | "mask" | "offsets">,
  proximal: Float32Array | undefined,
  algorithm: Algorithm,
): Correction => {
  const { correction } = algorithm;
  const importance = new Float32Array(batch.mu.length).fill(1);
  if (correction === "none" || correction === "loglinear" || proximal === undefined)
    return { old: batch.mu, importance, capped: 0 };
  const { above, floored, unit, within } = rules[correction];
  const cap = correction === "vtrace" ? algorithm.vtrace_rho_bar : algorithm.correction_cap;
  const ratios = ratiosOf(batch, proximal, unit, algorithm.correction_ratio);
  let capped = 0;
  batch.mask.forEach((trained, t) => {
    if (trained === 0) return;
    const ratio = ratios[t]!;
    const over = cap > 0 && ratio > cap;
    const outside = over || (floored && ratio < algorithm.correction_floor);
    if (outside) capped++;
    importance[t] = outside ? (over && above === "cut" ? cap : 0) : within === "one" ? 1 : ratio;
  });
  return { old: proximal, importance, capped };
};
