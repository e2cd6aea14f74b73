/** Factors on advantages that do not depend on the rewards: by the share of groups that the filter kept, and by length. */
import { mean } from "../../domain/Statistics.ts";

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
