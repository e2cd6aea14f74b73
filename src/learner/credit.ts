/**
 * Credit assignment: advantages and returns per token, from a window's tokens and the critic's values. GAE and V-trace run along
 * trajectories. Estimators without a critic compare episodes and spread an episode's advantage over its sequences. Invariant: advantages
 * and returns are 0 where the mask is 0.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { allSequences, boundsOf, type CreditedBatch, type TokenBatch } from "../domain/Batch.ts";
import { episodesOf, trajectoriesOf, turnsIn } from "../domain/BatchUnits.ts";
import { learner } from "../domain/metrics/learner.ts";
import { type Metrics, metricsFrom } from "../domain/metrics/Metrics.ts";
import { episodeScores } from "../domain/Placement.ts";
import { mean } from "../domain/Statistics.ts";
import { type AdvantageEstimator, estimateAdvantages } from "./advantages/AdvantageEstimator.ts";
import { type Advantages, biLevelGae, gae, returnsToGo } from "./advantages/gae.ts";
import { batchRelative, groupRelative, leaveOneOut, softWeights } from "./advantages/relative.ts";
import { vtrace } from "./advantages/vtrace.ts";
import { filterLossScale, relativeLengths, whiten } from "./advantages/weighting.ts";
import { logRatios } from "./corrections/ratios.ts";

/** The networks' outputs for a window, from which credit is assigned. */
export interface NetworkScores {
  /** Critic values at every position, [tokens]; zeros without a critic. */
  readonly values: Float32Array;
  /** Rewards that credit is assigned from, [tokens], after the KL penalty if the reward has one. */
  readonly rewards: Float32Array;
  /** Log-probability of each trained id under the weights at the start of the update, [tokens]; present if credit corrects by it. */
  readonly proximal?: Float32Array | undefined;
}

export interface CreditOptions {
  readonly algorithm: RunConfig["algorithm"];
  readonly lossScaling: RunConfig["filter"]["loss_scaling"];
  /** The estimator of a run file with `algorithm.adv_estimator: custom`. */
  readonly estimator?: AdvantageEstimator | undefined;
}

type Algorithm = RunConfig["algorithm"];
type CriticFree = Exclude<Algorithm["adv_estimator"], "gae">;

/** Estimates of each token before weighting, 0 where the mask is 0, [tokens]. */
interface Estimates {
  readonly advantages: Float64Array;
  readonly returns: Float64Array;
}

/** Tokens of a trajectory, end to end. */
interface Trajectory {
  readonly mask: Uint8Array;
  readonly rewards: Float32Array;
  /** Picks the trajectory's part of an array: [tokens of the batch] to [tokens]. */
  readonly slice: (array: ArrayLike<number>) => Float64Array;
}

/** Runs `estimate` on every trajectory of the batch. */
const perTrajectory = (batch: TokenBatch, estimate: (trajectory: Trajectory) => Advantages): Estimates => {
  const advantages = new Float64Array(batch.ids.length);
  const returns = new Float64Array(batch.ids.length);
  for (const sequences of trajectoriesOf(batch)) {
    const positions = sequences.flatMap((sequence) => {
      const [from, to] = boundsOf(batch, sequence);
      return Array.from({ length: to - from }, (_, i) => from + i);
    });
    const mask = Uint8Array.from(positions, (position) => batch.mask[position]!);
    const estimates = estimate({
      mask,
      rewards: Float32Array.from(positions, (position) => batch.rewards[position]!),
      slice: (array) => Float64Array.from(positions, (position) => array[position]!),
    });
    for (const [t, position] of positions.entries()) {
      if (mask[t] === 0) continue;
      advantages[position] = estimates.advantages[t]!;
      returns[position] = estimates.returns[t]!;
    }
  }
  return { advantages, returns };
};

/** Marks the last token of each turn with 1. */
const turnEnds = (mask: Uint8Array): Uint8Array => {
  const ends = new Uint8Array(mask.length);
  for (const [, last] of turnsIn(mask)) ends[last] = 1;
  return ends;
};

const withCritic = (
  batch: TokenBatch,
  values: Float32Array,
  algorithm: Algorithm,
  proximal: Float32Array | undefined,
): Estimates => {
  const { gamma, lam, high_level_gamma: gammaTurns } = algorithm;
  if (algorithm.correction === "vtrace") {
    if (proximal === undefined) throw new TypeError("V-trace needs the log-probabilities of the weights it trains");
    const ratios = logRatios(batch, proximal);
    const { correction_ratio: mean, vtrace_c_bar: cBar, vtrace_rho_bar: rhoBar } = algorithm;
    const options = { gammaTurns, lam, rhoBar, cBar, mean };
    return perTrajectory(batch, ({ mask, rewards, slice }) =>
      vtrace(rewards, slice(values), slice(ratios), mask, options),
    );
  }
  return perTrajectory(batch, ({ mask, rewards, slice }) =>
    algorithm.bi_level_gae
      ? biLevelGae(rewards, slice(values), mask, turnEnds(mask), { gamma, gammaTurns, lam })
      : gae(rewards, slice(values), mask, gamma, lam),
  );
};

/** Scores and groups of a batch's episodes. */
interface EpisodeScores {
  /** Sequences of each episode. */
  readonly sequences: readonly (readonly number[])[];
  readonly scores: Float64Array;
  readonly groups: Int32Array;
}

const episodeGroups = (batch: TokenBatch): EpisodeScores => {
  const sequences = episodesOf(batch);
  const scores = episodeScores(batch);
  const first = (array: ArrayLike<number>) => Float64Array.from(sequences, ([sequence]) => array[sequence!]!);
  return {
    sequences,
    scores: first(scores),
    groups: Int32Array.from(first(batch.groups)),
  };
};

/** Puts an episode's number on each trained token of its sequences. */
const spreadOverTokens = (
  batch: TokenBatch,
  { sequences }: EpisodeScores,
  perEpisode: ArrayLike<number>,
): Float64Array => {
  const tokens = new Float64Array(batch.ids.length);
  for (const [episode, episodeSequences] of sequences.entries()) {
    for (const sequence of episodeSequences) {
      const [from, to] = boundsOf(batch, sequence);
      for (let t = from; t < to; t++) tokens[t] = perEpisode[episode]! * batch.mask[t]!;
    }
  }
  return tokens;
};

/** Returns one advantage per episode, for estimators that compare episodes. ARPO takes the scores as they are. */
const comparedAdvantages = (
  { groups, scores }: EpisodeScores,
  estimator: Exclude<CriticFree, "reinforce_plus_plus" | "custom">,
  byStd: boolean,
): Float64Array => {
  switch (estimator) {
    case "grpo":
      return groupRelative(scores, groups, byStd);
    case "brpo":
      return batchRelative(scores, byStd);
    case "arpo":
      return scores;
    case "rloo":
      return leaveOneOut(scores, groups);
    case "reinforce_plus_plus_baseline":
      return groupRelative(scores, groups, false);
  }
};

const withoutCritic = (
  batch: TokenBatch,
  estimator: CriticFree,
  { algorithm, estimator: custom }: CreditOptions,
): Estimates => {
  if (estimator === "custom") {
    if (custom === undefined)
      throw new TypeError("algorithm.adv_estimator is custom, and its module has not been loaded");
    const advantages = estimateAdvantages(batch, custom);
    return { advantages, returns: advantages };
  }
  const { gamma, norm_adv_by_std_in_grpo: byStd } = algorithm;
  if (estimator === "reinforce_plus_plus") {
    const returnEstimates = perTrajectory(batch, ({ mask, rewards }) => {
      const returns = returnsToGo(rewards, mask, gamma);
      return { advantages: returns, returns };
    });
    return { advantages: whiten(returnEstimates.advantages, batch.mask), returns: returnEstimates.returns };
  }
  const episodes = episodeGroups(batch);
  const raw = spreadOverTokens(batch, episodes, comparedAdvantages(episodes, estimator, byStd));
  const advantages = estimator === "reinforce_plus_plus_baseline" ? whiten(raw, batch.mask) : raw;
  return { advantages, returns: advantages };
};

/** Multiplies the advantages of each sequence by its factor. */
const scaleSequences = (
  batch: TokenBatch,
  advantages: Float32Array,
  factor: (sequence: number) => number,
): Float32Array => {
  const scaled = advantages.slice();
  for (const sequence of allSequences(batch)) {
    const [from, to] = boundsOf(batch, sequence);
    const by = factor(sequence);
    for (let t = from; t < to; t++) scaled[t] = scaled[t]! * by;
  }
  return scaled;
};

const softWeightsOf = (batch: TokenBatch): ReadonlyMap<number, number> => {
  const { groups, scores } = episodeGroups(batch);
  return softWeights(scores, groups);
};

/** Counts the trained tokens of each sequence. */
const trainedLengths = (batch: TokenBatch): readonly number[] =>
  allSequences(batch).map((sequence) =>
    batch.mask.subarray(...boundsOf(batch, sequence)).reduce((sum, trained) => sum + trained, 0),
  );

/** Applies RAGEN's factors on advantages in its order: soft reweighting, kept share, length, and the ablation of the task. */
const weightAdvantages = (
  batch: TokenBatch,
  advantages: Float32Array,
  { algorithm, lossScaling }: CreditOptions,
): Float32Array => {
  let weighted = advantages;
  if (algorithm.soft_advantage_reweight) {
    const weights = softWeightsOf(batch);
    weighted = scaleSequences(batch, weighted, (sequence) => weights.get(batch.groups[sequence] ?? -1) ?? 1);
  }
  const scale = filterLossScale(lossScaling, batch.keptRatio);
  if (scale !== 1) weighted = weighted.map((advantage) => advantage * scale);
  if (algorithm.grpo_advantage_length_weight) {
    const lengths = relativeLengths(trainedLengths(batch));
    weighted = scaleSequences(batch, weighted, (sequence) => 1 / lengths[sequence]!);
  }
  return algorithm.zero_task_advantage ? new Float32Array(weighted.length) : weighted;
};

/**
 * Assigns the credit of a window. Only GAE and V-trace read the values. Only V-trace reads `proximal`, and throws a TypeError without it.
 */
export const assignCredit = (
  tokens: TokenBatch,
  { proximal, rewards, values }: NetworkScores,
  options: CreditOptions,
): CreditedBatch => {
  const { algorithm } = options;
  const batch = { ...tokens, rewards };
  const estimator = algorithm.adv_estimator;
  const hasCritic = estimator === "gae";
  const estimates = hasCritic
    ? withCritic(batch, values, algorithm, proximal)
    : withoutCritic(batch, estimator, options);
  const raw = hasCritic && algorithm.whiten ? whiten(estimates.advantages, batch.mask) : estimates.advantages;
  return {
    ...batch,
    advantages: weightAdvantages(batch, Float32Array.from(raw), options),
    values: hasCritic ? values : new Float32Array(batch.ids.length),
    returns: Float32Array.from(estimates.returns),
    ...(proximal === undefined ? {} : { proximal }),
  };
};

/** Returns the range of the soft weights; no metrics without soft reweighting. */
export const creditMetrics = (batch: TokenBatch, algorithm: Pick<Algorithm, "soft_advantage_reweight">): Metrics => {
  if (!algorithm.soft_advantage_reweight) return metricsFrom();
  const weights = [...softWeightsOf(batch).values()];
  if (weights.length === 0) return metricsFrom();
  return metricsFrom(
    [learner.softReweightMin, Math.min(...weights)],
    [learner.softReweightMax, Math.max(...weights)],
    [learner.softReweightMean, mean(weights)],
  );
};
