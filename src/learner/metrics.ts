/**
 * What an update says of itself, under RAGEN's metric names: pure functions of the batch and of the log-probabilities and values
 * seen during it. Only trained tokens count.
 */
import type { CreditedBatch, TokenBatch } from "../domain/Batch.ts";
import type { Version } from "../domain/Episode.ts";
import type { UpdateMetrics } from "./Learner.ts";
import { type ClipOptions, LOG_RATIO_BOUND } from "./losses/policyLoss.ts";

const bound = (logRatio: number): number => Math.max(-LOG_RATIO_BOUND, Math.min(LOG_RATIO_BOUND, logRatio));

/** Mean, smallest and largest of what is put in. */
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
    mean: () => (count === 0 ? 0 : sum / count),
    min: () => (count === 0 ? 0 : min),
    max: () => (count === 0 ? 0 : max),
    /** (sum)^2 / (count sum of squares). */
    effective: () => (squares === 0 ? 1 : (sum * sum) / (count * squares)),
  };
};

const eachTrained = (
  batch: Pick<TokenBatch, "mask" | "offsets">,
  sequences: readonly number[],
  visit: (t: number) => void,
): void => {
  for (const i of sequences)
    for (let t = batch.offsets[i]; t < batch.offsets[i + 1]; t++) if (batch.mask[t] !== 0) visit(t);
};

/** Clipping, divergence and ratios of the surrogate, gathered over the mini-batches of an update. */
export class SurrogateMetrics {
  readonly #clip: ClipOptions;
  readonly #clipped = summary();
  readonly #lower = summary();
  readonly #kl = summary();
  readonly #ratio = summary();

  constructor(clip: ClipOptions) {
    this.#clip = clip;
  }

  /** A mini-batch with the log-probabilities before its step. */
  add(batch: CreditedBatch, sequences: readonly number[], logp: Float32Array, old: Float32Array): void {
    const { low, high, dual } = this.#clip;
    eachTrained(batch, sequences, (t) => {
      const difference = bound(logp[t] - old[t]);
      const ratio = Math.exp(difference);
      const advantage = batch.advantages[t];
      const plain = -advantage * ratio;
      const clipped = -advantage * Math.max(1 - low, Math.min(1 + high, ratio));
      this.#clipped.put(clipped > plain ? 1 : 0);
      this.#lower.put(dual > 0 && advantage < 0 && Math.max(plain, clipped) > -advantage * dual ? 1 : 0);
      this.#kl.put(-difference);
      this.#ratio.put(ratio);
    });
  }

  result(): UpdateMetrics {
    return {
      "actor/pg_clipfrac": this.#clipped.mean(),
      "actor/pg_clipfrac_lower": this.#lower.mean(),
      "actor/ppo_kl": this.#kl.mean(),
      "actor/ratio/mean": this.#ratio.mean(),
      "actor/ratio/min": this.#ratio.min(),
      "actor/ratio/max": this.#ratio.max(),
    };
  }
}

/**
 * How far mu is from the policy's own log-probability `logp` before any step: over tokens sampled by these very weights (`fresh`, the
 * numerical mismatch of generator and learner) and by older ones (`stale`). `kl` is the k3 estimate of KL(mu || policy) and
 * `ess` the effective share of samples under the weights policy / mu.
 */
export const mismatchMetrics = (
  batch: TokenBatch,
  sequences: readonly number[],
  logp: Float32Array,
  version: Version,
): UpdateMetrics => {
  const [absolute, kl, weight] = [summary(), summary(), summary()];
  const parts = { fresh: { absolute: summary(), kl: summary() }, stale: { absolute: summary(), kl: summary() } };
  eachTrained(batch, sequences, (t) => {
    const difference = bound(logp[t] - batch.mu[t]);
    const k3 = Math.exp(difference) - 1 - difference;
    const part = batch.versions[t] >= version ? parts.fresh : parts.stale;
    absolute.put(Math.abs(difference));
    kl.put(k3);
    weight.put(Math.exp(difference));
    part.absolute.put(Math.abs(difference));
    part.kl.put(k3);
  });
  const metrics: Record<string, number> = {
    "mismatch/abs/mean": absolute.mean(),
    "mismatch/abs/max": absolute.max(),
    "mismatch/kl": kl.mean(),
    "mismatch/ess": weight.effective(),
    "mismatch/stale_fraction": parts.stale.kl.count() / Math.max(1, kl.count()),
  };
  for (const [name, part] of Object.entries(parts)) {
    if (part.kl.count() === 0) continue;
    metrics[`mismatch/${name}/abs/mean`] = part.absolute.mean();
    metrics[`mismatch/${name}/abs/max`] = part.absolute.max();
    metrics[`mismatch/${name}/kl`] = part.kl.mean();
  }
  return metrics;
};

/** Clipping of the value loss and the mean prediction, gathered over the mini-batches of an update. */
export class ValueMetrics {
  readonly #range: number;
  readonly #clipped = summary();
  readonly #predicted = summary();

  constructor(range: number) {
    this.#range = range;
  }

  /** A mini-batch with the critic's values before its step. */
  add(batch: CreditedBatch, sequences: readonly number[], predicted: Float32Array): void {
    eachTrained(batch, sequences, (t) => {
      const [value, old, target] = [predicted[t], batch.values[t], batch.returns[t]];
      const clipped = Math.max(old - this.#range, Math.min(old + this.#range, value));
      this.#clipped.put((clipped - target) ** 2 > (value - target) ** 2 ? 1 : 0);
      this.#predicted.put(value);
    });
  }

  result(): UpdateMetrics {
    return { "critic/vf_clipfrac": this.#clipped.mean(), "critic/vpred_mean": this.#predicted.mean() };
  }
}

const variance = (values: readonly number[]): number => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length - 1);
};

/** `critic/{score,advantages,returns,values}/{mean,max,min}` and, with values, the share of the returns' variance they explain. */
export const batchMetrics = (batch: CreditedBatch, withValues: boolean): UpdateMetrics => {
  const all = Array.from({ length: batch.offsets.length - 1 }, (_, i) => i);
  const metrics: Record<string, number> = {};
  const record = (name: string, of: ReturnType<typeof summary>): void => {
    metrics[`critic/${name}/mean`] = of.mean();
    metrics[`critic/${name}/max`] = of.max();
    metrics[`critic/${name}/min`] = of.min();
  };
  const score = summary();
  for (const i of all)
    score.put(batch.rewards.subarray(batch.offsets[i], batch.offsets[i + 1]).reduce((sum, reward) => sum + reward, 0));
  record("score", score);
  record("rewards", score);
  const [advantages, returns, values] = [summary(), summary(), summary()];
  const [targets, errors]: [number[], number[]] = [[], []];
  eachTrained(batch, all, (t) => {
    advantages.put(batch.advantages[t]);
    returns.put(batch.returns[t]);
    values.put(batch.values[t]);
    targets.push(batch.returns[t]);
    errors.push(batch.returns[t] - batch.values[t]);
  });
  record("advantages", advantages);
  record("returns", returns);
  if (!withValues) return metrics;
  record("values", values);
  metrics["critic/vf_explained_var"] = 1 - variance(errors) / (variance(targets) + 1e-5);
  return metrics;
};
