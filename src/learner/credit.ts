/**
 * The credit stage's function: a window's tokens and the critic's values enter, advantages and returns per token leave.
 * Invariant: both are 0 where the mask is 0.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { type CreditedBatch, sequences, type TokenBatch } from "../domain/Batch.ts";
import { filterLossScale, gae, groupRelative, whiten } from "./advantages.ts";

export interface CreditOptions {
  readonly algorithm: RunConfig["algorithm"];
  readonly lossScaling: RunConfig["filter"]["loss_scaling"];
}

const withGae = (batch: TokenBatch, values: Float32Array, algorithm: RunConfig["algorithm"]): CreditedBatch => {
  const raw = new Float64Array(batch.ids.length);
  const returns = new Float32Array(batch.ids.length);
  for (let i = 0; i < sequences(batch); i++) {
    const [from, to] = [batch.offsets[i], batch.offsets[i + 1]];
    const mask = batch.mask.subarray(from, to);
    const estimate = gae(
      batch.rewards.subarray(from, to),
      values.subarray(from, to),
      mask,
      algorithm.gamma,
      algorithm.lam,
    );
    mask.forEach((trained, t) => {
      if (trained === 0) return;
      raw[from + t] = estimate.advantages[t];
      returns[from + t] = estimate.returns[t];
    });
  }
  const advantages = Float32Array.from(algorithm.whiten ? whiten(raw, batch.mask) : raw);
  return { ...batch, advantages, values, returns };
};

const withGroups = (batch: TokenBatch, algorithm: RunConfig["algorithm"]): CreditedBatch => {
  const scores = Float64Array.from({ length: sequences(batch) }, (_, i) =>
    batch.rewards.subarray(batch.offsets[i], batch.offsets[i + 1]).reduce((sum, reward) => sum + reward, 0),
  );
  const relative = groupRelative(scores, batch.groups, algorithm.norm_adv_by_std_in_grpo);
  const advantages = new Float32Array(batch.ids.length);
  relative.forEach((advantage, i) => {
    for (let t = batch.offsets[i]; t < batch.offsets[i + 1]; t++) advantages[t] = advantage * batch.mask[t];
  });
  return { ...batch, advantages, values: new Float32Array(batch.ids.length), returns: advantages.slice() };
};

/** `values` is [tokens], the critic's at consumption (`Learner.values`); ignored by GRPO. */
export const credit = (batch: TokenBatch, values: Float32Array, options: CreditOptions): CreditedBatch => {
  const { algorithm, lossScaling } = options;
  const credited = algorithm.adv_estimator === "gae" ? withGae(batch, values, algorithm) : withGroups(batch, algorithm);
  const scale = filterLossScale(lossScaling, batch.keptRatio);
  return scale === 1 ? credited : { ...credited, advantages: credited.advantages.map((a) => a * scale) };
};
