/**
 * Credit assignment: advantages and returns per token from a window's tokens and the critic's values.
 * Invariant: both are 0 where the mask is 0.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { allSequences, boundsOf, type CreditedBatch, sequences, type TokenBatch } from "../domain/Batch.ts";
import { biLevelGae, filterLossScale, gae, groupRelative, leaveOneOut, returnsToGo, whiten } from "./advantages.ts";

export interface CreditOptions {
  readonly algorithm: RunConfig["algorithm"];
  readonly lossScaling: RunConfig["filter"]["loss_scaling"];
}

type Algorithm = RunConfig["algorithm"];

/** 1 at the last trained token of each turn (a run of trained tokens) and wherever a reward lies. */
const turnEnds = (rewards: Float32Array, mask: Uint8Array): Uint8Array =>
  mask.map((trained, t) => (trained === 1 && ((mask[t + 1] ?? 0) === 0 || rewards[t] !== 0) ? 1 : 0));

const withGae = (batch: TokenBatch, values: Float32Array, algorithm: Algorithm): CreditedBatch => {
  const { gamma, lam, high_level_gamma: gammaTurns } = algorithm;
  const raw = new Float64Array(batch.ids.length);
  const returns = new Float32Array(batch.ids.length);
  for (let i = 0; i < sequences(batch); i++) {
    const [from, to] = boundsOf(batch, i);
    const [rewards, mask] = [batch.rewards.subarray(from, to), batch.mask.subarray(from, to)];
    const predicted = values.subarray(from, to);
    const estimate = algorithm.bi_level_gae
      ? biLevelGae(rewards, predicted, mask, turnEnds(rewards, mask), { gamma, gammaTurns, lam })
      : gae(rewards, predicted, mask, gamma, lam);
    mask.forEach((trained, t) => {
      if (trained === 0) return;
      raw[from + t] = estimate.advantages[t]!;
      returns[from + t] = estimate.returns[t]!;
    });
  }
  const advantages = Float32Array.from(algorithm.whiten ? whiten(raw, batch.mask) : raw);
  return { ...batch, advantages, values, returns };
};

const scoresOf = (batch: TokenBatch): Float64Array =>
  Float64Array.from(allSequences(batch), (sequence) =>
    batch.rewards.subarray(...boundsOf(batch, sequence)).reduce((sum, reward) => sum + reward, 0),
  );

/** One advantage per sequence, on each of its trained tokens. */
const spread = (batch: TokenBatch, perSequence: Float64Array): Float64Array => {
  const advantages = new Float64Array(batch.ids.length);
  perSequence.forEach((advantage, i) => {
    const [from, to] = boundsOf(batch, i);
    for (let t = from; t < to; t++) advantages[t] = advantage * batch.mask[t]!;
  });
  return advantages;
};

const toCome = (batch: TokenBatch, gamma: number): Float64Array => {
  const returns = new Float64Array(batch.ids.length);
  for (let i = 0; i < sequences(batch); i++) {
    const [from, to] = boundsOf(batch, i);
    returns.set(returnsToGo(batch.rewards.subarray(from, to), batch.mask.subarray(from, to), gamma), from);
  }
  return returns.map((value, t) => value * batch.mask[t]!);
};

/** Advantages of the estimators that need no critic, [tokens]. */
const criticFree = (batch: TokenBatch, algorithm: Algorithm): Float64Array => {
  switch (algorithm.adv_estimator) {
    case "rloo":
      return spread(batch, leaveOneOut(scoresOf(batch), batch.groups));
    case "reinforce_plus_plus":
      return whiten(toCome(batch, algorithm.gamma), batch.mask);
    case "reinforce_plus_plus_baseline":
      return whiten(spread(batch, groupRelative(scoresOf(batch), batch.groups, false)), batch.mask);
    case "gae":
    case "grpo":
      return spread(batch, groupRelative(scoresOf(batch), batch.groups, algorithm.norm_adv_by_std_in_grpo));
  }
};

const withoutCritic = (batch: TokenBatch, algorithm: Algorithm): CreditedBatch => {
  const advantages = Float32Array.from(criticFree(batch, algorithm));
  const returns =
    algorithm.adv_estimator === "reinforce_plus_plus"
      ? Float32Array.from(toCome(batch, algorithm.gamma))
      : advantages.slice();
  return { ...batch, advantages, values: new Float32Array(batch.ids.length), returns };
};

/** `values` is [tokens], the critic's at consumption (`Learner.values`); only GAE reads it. */
export const credit = (batch: TokenBatch, values: Float32Array, options: CreditOptions): CreditedBatch => {
  const { algorithm, lossScaling } = options;
  const credited =
    algorithm.adv_estimator === "gae" ? withGae(batch, values, algorithm) : withoutCritic(batch, algorithm);
  const scale = filterLossScale(lossScaling, batch.keptRatio);
  return scale === 1 ? credited : { ...credited, advantages: credited.advantages.map((a) => a * scale) };
};
