/** Factors on advantages that do not depend on the rewards: by the share of groups that the filter kept, and by length. */
import { mean } from "../../domain/Statistics.ts";

/** (A - mean) / sqrt(variance + 1e-8) over the tokens with mask 1, with the unbiased variance; 0 elsewhere. [tokens] */
export const whiten = (values: ArrayLike<number>, mask: ArrayLike<number>): Float64Array => {
  const whitened = new Float64Array(values.length);
  let count = 0;
  let sum = 0;
  for (let t = 0; t < values.length; t++) {
    if (mask[t] === 0) continue;
    count++;
    sum += values[t]!;
  }
  const mean = sum / Math.max(1, count);
  let squares = 0;
  for (let t = 0; t < values.length; t++) if (mask[t] !== 0) squares += (values[t]! - mean) ** 2;
  const scale = 1 / Math.sqrt(squares / Math.max(1, count - 1) + 1e-8);
  for (let t = 0; t < values.length; t++) if (mask[t] !== 0) whitened[t] = (values[t]! - mean) * scale;
  return whitened;
};

/** Factor on the advantages when the filter kept only a share of the window's groups. */
export const filterLossScale = (scaling: "none" | "linear" | "sqrt", keptRatio: number): number =>
  scaling === "none" ? 1 : scaling === "linear" ? keptRatio : Math.sqrt(keptRatio);

/**
 * Returns each sequence's length relative to the mean, (n + 1e-6) / mean n, with n its trained tokens. Dividing by it gives all sequences
 * equal sums of advantages (RAGEN's `grpo_advantage_length_weight`). [sequences]
 */
export const relativeLengths = (trained: readonly number[]): readonly number[] => {
  const usual = mean(trained);
  return trained.map((count) => (count + 1e-6) / usual);
};
