/**
 * Metrics of an update: pure functions of the batch and of its log-probabilities and values. Only trained tokens count. Invariant: a
 * statistic over no token is absent.
 */
import { allSequences, boundsOf, type CreditedBatch, type TokenBatch } from "../domain/Batch.ts";
import { episodesOf } from "../domain/BatchUnits.ts";
import type { Version } from "../domain/Episode.ts";
import { learner } from "../domain/metrics/learner.ts";
import type { Metric } from "../domain/metrics/Metric.ts";
import { type Metrics, mergeMetrics, metricsFrom } from "../domain/metrics/Metrics.ts";
import { episodeScores } from "../domain/Placement.ts";
import type { Correction } from "./corrections/correct.ts";
import { clampLogRatio } from "./losses/logRatio.ts";
import type { ClipOptions } from "./losses/policyLoss.ts";

/** Tokens of at least this staleness share one metric. */
const MOST_STALENESS = 8;

/** Gathers mean, minimum and maximum of numbers; they are undefined before the first one. */
const summary = () => {
  let [count, sum, squares] = [0, 0, 0];
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return {
    put: (value: number): void => {
      count++;
      sum += value;
      squares += value * value;
      if (value < min) min = value;
      if (value > max) max = value;
    },
    count: () => count,
    mean: () => (count === 0 ? undefined : sum / count),
    min: () => (count === 0 ? undefined : min),
    max: () => (count === 0 ? undefined : max),
    /** Effective share of samples: (sum)^2 / (count x sum of squares). */
    effective: () => (squares === 0 ? undefined : (sum * sum) / (count * squares)),
  };
};

/** Keeps a summary per staleness in versions. The oldest tokens share one. */
const byStaleness = () => {
  const parts = Array.from({ length: MOST_STALENESS + 1 }, summary);
  return {
    /** Adds a token that version `sampledBy` sampled. A token that nobody sampled (-1) is left out. */
    put: (version: Version, sampledBy: Version, value: number): void => {
      if (sampledBy >= 0) parts[Math.max(0, Math.min(MOST_STALENESS, version - sampledBy))]?.put(value);
    },
    /** Returns `statistic` of each summary as a metric. */
    metrics: (
      metric: (typeof learner)["essByStaleness" | "klByStaleness" | "clipFractionByStaleness"],
      statistic: (part: ReturnType<typeof summary>) => number | undefined,
    ): Metrics =>
      metricsFrom(
        ...parts.map((part, staleness): [Metric, number | undefined] => [
          metric.of({ staleness: staleness === MOST_STALENESS ? `${staleness}_or_more` : `${staleness}` }),
          statistic(part),
        ]),
      ),
  };
};

const eachTrained = (
  batch: Pick<TokenBatch, "mask" | "offsets">,
  sequences: readonly number[],
  visit: (t: number) => void,
): void => {
  for (const sequence of sequences) {
    const [from, to] = boundsOf(batch, sequence);
    for (let t = from; t < to; t++) if (batch.mask[t] !== 0) visit(t);
  }
};

/** Clipping, divergence and ratios of the surrogate, gathered over the mini-batches of an update. */
export class SurrogateMetrics {
  readonly #clip: ClipOptions;
  readonly #version: Version;
  readonly #clipped = summary();
  readonly #clippedBy = byStaleness();
  readonly #lower = summary();
  readonly #kl = summary();
  readonly #ratio = summary();

  /** `version` is that of the weights at the start of the update. */
  constructor(clip: ClipOptions, version: Version) {
    this.#clip = clip;
    this.#version = version;
  }

  /** Adds a mini-batch with the log-probabilities before its step. */
  add(batch: CreditedBatch, sequences: readonly number[], logp: Float32Array, old: Float32Array): void {
    const { low, high, dual } = this.#clip;
    eachTrained(batch, sequences, (t) => {
      const difference = clampLogRatio(logp[t]! - old[t]!);
      const ratio = Math.exp(difference);
      const advantage = batch.advantages[t]!;
      const plain = -advantage * ratio;
      const clipped = -advantage * Math.max(1 - low, Math.min(1 + high, ratio));
      this.#clipped.put(clipped > plain ? 1 : 0);
      this.#clippedBy.put(this.#version, batch.versions[t]!, clipped > plain ? 1 : 0);
      this.#lower.put(dual > 0 && advantage < 0 && Math.max(plain, clipped) > -advantage * dual ? 1 : 0);
      this.#kl.put(-difference);
      this.#ratio.put(ratio);
    });
  }

  result(): Metrics {
    return mergeMetrics(
      metricsFrom(
        [learner.clipFraction, this.#clipped.mean()],
        [learner.clipFractionLower, this.#lower.mean()],
        [learner.ppoKl, this.#kl.mean()],
        [learner.ratioMean, this.#ratio.mean()],
        [learner.ratioMin, this.#ratio.min()],
        [learner.ratioMax, this.#ratio.max()],
      ),
      this.#clippedBy.metrics(learner.clipFractionByStaleness, (part) => part.mean()),
    );
  }
}

/**
 * Measures how far mu is from the policy's log-probability `logp` before any step. `fresh` tokens were sampled by these weights (numerical
 * mismatch of generator and learner), `stale` ones by older weights. `kl` is the k3 estimate of KL(mu || policy), `ess` the effective share
 * of samples under policy / mu.
 */
export const mismatchMetrics = (
  batch: TokenBatch,
  sequences: readonly number[],
  logp: Float32Array,
  version: Version,
): Metrics => {
  const [absolute, kl, weight] = [summary(), summary(), summary()];
  const [klBy, weightBy] = [byStaleness(), byStaleness()];
  const fresh = { absolute: summary(), kl: summary() };
  const stale = { absolute: summary(), kl: summary() };
  eachTrained(batch, sequences, (t) => {
    const difference = clampLogRatio(logp[t]! - batch.mu[t]!);
    const k3 = Math.exp(difference) - 1 - difference;
    const sampledBy = batch.versions[t]!;
    const part = sampledBy >= version ? fresh : stale;
    klBy.put(version, sampledBy, k3);
    weightBy.put(version, sampledBy, Math.exp(difference));
    absolute.put(Math.abs(difference));
    kl.put(k3);
    weight.put(Math.exp(difference));
    part.absolute.put(Math.abs(difference));
    part.kl.put(k3);
  });
  return mergeMetrics(
    metricsFrom(
      [learner.mismatchMean, absolute.mean()],
      [learner.mismatchMax, absolute.max()],
      [learner.mismatchKl, kl.mean()],
      [learner.mismatchEss, weight.effective()],
      [learner.staleFraction, kl.count() === 0 ? undefined : stale.kl.count() / kl.count()],
      [learner.freshMean, fresh.absolute.mean()],
      [learner.freshMax, fresh.absolute.max()],
      [learner.freshKl, fresh.kl.mean()],
      [learner.staleMean, stale.absolute.mean()],
      [learner.staleMax, stale.absolute.max()],
      [learner.staleKl, stale.kl.mean()],
    ),
    weightBy.metrics(learner.essByStaleness, (part) => part.effective()),
    klBy.metrics(learner.klByStaleness, (part) => part.mean()),
  );
};

/** The importance weights that an update used, gathered over its tokens. */
export class WeightMetrics {
  readonly #weight = summary();
  readonly #dropped = summary();
  readonly #droppedSequences = summary();
  #capped = 0;

  /** Adds the weights [tokens] of the sequences, and how many of them a bound changed. */
  add(
    batch: Pick<TokenBatch, "mask" | "offsets">,
    sequences: readonly number[],
    { capped, importance }: Pick<Correction, "capped" | "importance">,
  ): void {
    this.#capped += capped;
    for (const sequence of sequences) {
      const sequenceWeights = summary();
      eachTrained(batch, [sequence], (t) => {
        sequenceWeights.put(importance[t]!);
        this.#weight.put(importance[t]!);
        this.#dropped.put(importance[t] === 0 ? 1 : 0);
      });
      if (sequenceWeights.count() > 0) this.#droppedSequences.put(sequenceWeights.max() === 0 ? 1 : 0);
    }
  }

  result(): Metrics {
    const count = this.#weight.count();
    return metricsFrom(
      [learner.cappedFraction, count === 0 ? undefined : this.#capped / count],
      [learner.weightEss, this.#weight.effective()],
      [learner.weightMean, this.#weight.mean()],
      [learner.droppedFraction, this.#dropped.mean()],
      [learner.droppedSequences, this.#droppedSequences.mean()],
    );
  }
}

/** Clipping of the value loss and the mean prediction, gathered over the mini-batches of an update. */
export class ValueMetrics {
  readonly #range: number;
  readonly #clipped = summary();
  readonly #predicted = summary();

  constructor(range: number) {
    this.#range = range;
  }

  /** Adds a mini-batch with the critic's values before its step. */
  add(batch: CreditedBatch, sequences: readonly number[], predicted: Float32Array): void {
    eachTrained(batch, sequences, (t) => {
      const [value, old, target] = [predicted[t]!, batch.values[t]!, batch.returns[t]!];
      const clipped = Math.max(old - this.#range, Math.min(old + this.#range, value));
      this.#clipped.put((clipped - target) ** 2 > (value - target) ** 2 ? 1 : 0);
      this.#predicted.put(value);
    });
  }

  result(): Metrics {
    return metricsFrom([learner.vfClipFraction, this.#clipped.mean()], [learner.predictedMean, this.#predicted.mean()]);
  }
}

const variance = (values: readonly number[]): number => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length - 1);
};

/** Returns 1 - variance of the errors / variance of the returns; undefined for fewer than two tokens. */
const explainedVariance = (returns: readonly number[], errors: readonly number[]): number | undefined =>
  returns.length < 2 ? undefined : 1 - variance(errors) / (variance(returns) + 1e-5);

/**
 * Summarises episode scores and, over trained tokens, advantages and returns. `withValues` adds the critic's values and their explained
 * variance.
 */
export const batchMetrics = (batch: CreditedBatch, withValues: boolean): Metrics => {
  const sequences = allSequences(batch);
  const score = summary();
  const scores = episodeScores(batch);
  for (const [first] of episodesOf(batch)) score.put(scores[first!]!);
  const [advantages, returns, values] = [summary(), summary(), summary()];
  const [targets, errors]: [number[], number[]] = [[], []];
  eachTrained(batch, sequences, (t) => {
    const [target, value] = [batch.returns[t]!, batch.values[t]!];
    advantages.put(batch.advantages[t]!);
    returns.put(target);
    values.put(value);
    targets.push(target);
    errors.push(target - value);
  });
  return mergeMetrics(
    metricsFrom(
      [learner.scoreMean, score.mean()],
      [learner.scoreMax, score.max()],
      [learner.scoreMin, score.min()],
      [learner.rewardsMean, score.mean()],
      [learner.rewardsMax, score.max()],
      [learner.rewardsMin, score.min()],
      [learner.advantagesMean, advantages.mean()],
      [learner.advantagesMax, advantages.max()],
      [learner.advantagesMin, advantages.min()],
      [learner.returnsMean, returns.mean()],
      [learner.returnsMax, returns.max()],
      [learner.returnsMin, returns.min()],
    ),
    withValues
      ? metricsFrom(
          [learner.valuesMean, values.mean()],
          [learner.valuesMax, values.max()],
          [learner.valuesMin, values.min()],
          [learner.explainedVariance, explainedVariance(targets, errors)],
        )
      : metricsFrom(),
  );
};
