/**
 * Importance ratios pi_prox / mu of tokens, turns and sequences, over trained tokens only. Invariant: the logarithm of every ratio is
 * within ±20, so that no exponential overflows.
 */
import { allSequences, boundsOf, type TokenBatch } from "../../domain/Batch.ts";
import { turnsIn } from "../../domain/BatchUnits.ts";
import { clampLogRatio } from "../losses/logRatio.ts";

/** Tokens that share one ratio: a single token, a turn (a run of trained tokens), or a sequence's trained tokens. */
export type RatioUnit = "token" | "turn" | "sequence";
/** The way token ratios are joined: as a product or as a geometric mean. */
export type RatioMean = "product" | "geometric";

/** Returns the ratio of `count` tokens whose log ratios sum to `sum`. */
export const meanRatio = (sum: number, count: number, mean: RatioMean): number =>
  Math.exp(clampLogRatio(mean === "product" ? sum : sum / count));

/** Returns log pi_prox - log mu, 0 for tokens that are not trained on. [tokens] */
export const logRatios = ({ mask, mu }: Pick<TokenBatch, "mask" | "mu">, proximal: Float32Array): Float64Array =>
  Float64Array.from(mask, (trained, t) => (trained === 0 ? 0 : proximal[t]! - mu[t]!));

/** Returns the first and last position of each unit. A sequence's span includes its untrained tokens. */
const spansOf = (
  batch: Pick<TokenBatch, "mask" | "offsets">,
  unit: "turn" | "sequence",
): readonly (readonly [first: number, last: number])[] =>
  allSequences(batch).flatMap((sequence): readonly (readonly [number, number])[] => {
    const [from, to] = boundsOf(batch, sequence);
    if (unit === "sequence") return [[from, to - 1]];
    return turnsIn(batch.mask.subarray(from, to)).map(([first, last]) => [from + first, from + last]);
  });

/** Returns the ratio of the unit that each token is in, 1 for tokens that are not trained on. Single tokens ignore `mean`. [tokens] */
export const ratiosOf = (
  batch: Pick<TokenBatch, "mask" | "mu" | "offsets">,
  proximal: Float32Array,
  unit: RatioUnit,
  mean: RatioMean,
): Float64Array => {
  const logs = logRatios(batch, proximal);
  if (unit === "token") return logs.map((log) => Math.exp(clampLogRatio(log)));
  const ratios = new Float64Array(logs.length).fill(1);
  for (const [first, last] of spansOf(batch, unit)) {
    let [sum, count] = [0, 0];
    for (let t = first; t <= last; t++) {
      sum += logs[t]!;
      count += batch.mask[t]!;
    }
    const ratio = meanRatio(sum, Math.max(1, count), mean);
    for (let t = first; t <= last; t++) if (batch.mask[t] !== 0) ratios[t] = ratio;
  }
  return ratios;
};
