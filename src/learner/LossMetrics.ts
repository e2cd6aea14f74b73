/**
 * Clipping, divergence and ratios of a policy loss, gathered over the mini-batches of an update. The ratio is the one that the loss clips:
 * a token's, or its sequence's. Invariant: a loss without clipping has no clip fraction.
 */
import { boundsOf, type CreditedBatch, type TokenBatch } from "../domain/Batch.ts";
import type { Version } from "../domain/Episode.ts";
import { learner } from "../domain/metrics/learner.ts";
import type { Metrics } from "../domain/metrics/Metrics.ts";
import { mean } from "../domain/Statistics.ts";
import { type ClipRule, lossDefinition, type PolicyLossOptions } from "./losses/policyLoss.ts";
import { SurrogateMetrics } from "./updateMetrics.ts";

/**
 * Returns log-probabilities [tokens] whose ratio to `old` is, at each trained token, that of its sequence: old + mean(logp - old).
 * Sequences that are not listed have 0.
 */
export const sequenceLevel = (
  batch: Pick<TokenBatch, "mask" | "offsets">,
  sequences: readonly number[],
  logp: Float32Array,
  old: Float32Array,
): Float32Array => {
  const level = new Float32Array(logp.length);
  for (const sequence of sequences) {
    const [from, to] = boundsOf(batch, sequence);
    const trained: number[] = [];
    for (let t = from; t < to; t++) if (batch.mask[t] !== 0) trained.push(t);
    if (trained.length === 0) continue;
    const shift = mean(trained.map((t) => logp[t]! - old[t]!));
    for (const t of trained) level[t] = old[t]! + shift;
  }
  return level;
};

/** Bounds for a loss without clipping; its clip fractions are removed from the result. */
const NO_CLIP = { low: 0, high: 0, dual: 0 };

const withoutFractions = (metrics: Metrics): Metrics => {
  // The fraction by staleness has names with this prefix.
  const fractions = learner.clipFraction.name;
  return new Map([...metrics].filter(([name]) => !name.startsWith(fractions)));
};

export class LossMetrics {
  readonly #clipRule: ClipRule | null;
  readonly #metrics: SurrogateMetrics;

  /** `version` is that of the weights at the start of the update. */
  constructor({ clip, loss }: Pick<PolicyLossOptions, "clip" | "loss">, version: Version) {
    this.#clipRule = lossDefinition(loss).clipRule?.(clip) ?? null;
    this.#metrics = new SurrogateMetrics(this.#clipRule?.bounds ?? NO_CLIP, version);
  }

  /** Adds a mini-batch with the log-probabilities before its step. */
  add(batch: CreditedBatch, sequences: readonly number[], logp: Float32Array, old: Float32Array): void {
    const level = this.#clipRule?.ratio === "sequence" ? sequenceLevel(batch, sequences, logp, old) : logp;
    this.#metrics.add(batch, sequences, level, old);
  }

  result(): Metrics {
    const metrics = this.#metrics.result();
    return this.#clipRule === null ? withoutFractions(metrics) : metrics;
  }
}
