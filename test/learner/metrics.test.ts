import { describe, expect, it } from "vitest";
import { learner } from "../../src/domain/metrics/learner.ts";
import { valueIn } from "../../src/domain/metrics/Metrics.ts";
import { batchMetrics, mismatchMetrics, SurrogateMetrics, ValueMetrics } from "../../src/learner/metrics.ts";
import { creditedBatch } from "./batch.ts";

const base = creditedBatch({ seed: 1, lengths: [5], vocabulary: 9 });
/** One sequence of five positions, the last four trained. */
const batch = {
  ...base,
  mask: Uint8Array.from([0, 1, 1, 1, 1]),
  mu: Float32Array.from([0, -1, -1, -1, -1]),
  versions: Int32Array.from([-1, 3, 3, 2, 2]),
  advantages: Float32Array.from([0, 1, 1, -1, -1]),
  values: Float32Array.from([0, 0, 0, 0, 0]),
  returns: Float32Array.from([0, 1, 1, 3, 3]),
  rewards: Float32Array.from([0, 0, 0, 0, 2]),
};
const logp = Float32Array.from([-9, ...[1, 2, 1, 5].map((ratio) => -1 + Math.log(ratio))]);

describe("surrogate metrics", () => {
  it("count the tokens each clip holds back", () => {
    const metrics = new SurrogateMetrics({ low: 0.2, high: 0.28, dual: 3 });
    metrics.add(batch, [0], logp, batch.mu);
    const result = metrics.result();
    // ratio 2 at a positive advantage meets the upper clip, ratio 5 at a negative one the dual clip
    expect(valueIn(result, learner.clipFraction)).toBe(0.25);
    expect(valueIn(result, learner.clipFractionLower)).toBe(0.25);
    expect(valueIn(result, learner.ppoKl)).toBeCloseTo(-Math.log(10) / 4, 5);
    expect(valueIn(result, learner.ratioMax)).toBeCloseTo(5, 4);
  });
});

describe("mismatch metrics", () => {
  it("tell tokens of these weights from older ones", () => {
    const metrics = mismatchMetrics(batch, [0], logp, 3);
    expect(valueIn(metrics, learner.staleFraction)).toBe(0.5);
    expect(valueIn(metrics, learner.freshMax)).toBeCloseTo(Math.log(2), 5);
    expect(valueIn(metrics, learner.staleMax)).toBeCloseTo(Math.log(5), 5);
    expect(valueIn(metrics, learner.mismatchEss)).toBeCloseTo((1 + 2 + 1 + 5) ** 2 / (4 * (1 + 4 + 1 + 25)), 4);
  });

  it("leave out a kind of which there is none", () => {
    const metrics = mismatchMetrics(batch, [0], logp, 2);
    expect(valueIn(metrics, learner.staleKl)).toBeUndefined();
    expect(valueIn(metrics, learner.freshKl)).toBe(valueIn(metrics, learner.mismatchKl));
  });
});

describe("value metrics", () => {
  it("count predictions the clip makes worse", () => {
    const metrics = new ValueMetrics(0.5);
    metrics.add(batch, [0], Float32Array.from([0, 1, 0.2, 2, -1]));
    const result = metrics.result();
    expect(valueIn(result, learner.vfClipFraction)).toBe(0.5);
    expect(valueIn(result, learner.predictedMean)).toBeCloseTo(0.55, 6);
  });
});

describe("batch metrics", () => {
  it("are taken over sequences for scores and over trained tokens for the rest", () => {
    const metrics = batchMetrics(batch, true);
    expect(valueIn(metrics, learner.scoreMean)).toBe(2);
    expect(valueIn(metrics, learner.returnsMean)).toBe(2);
    expect(valueIn(metrics, learner.advantagesMin)).toBe(-1);
    expect(valueIn(metrics, learner.explainedVariance)).toBeCloseTo(0, 4);
  });

  it("say nothing of values without a critic", () => {
    expect(valueIn(batchMetrics(batch, false), learner.valuesMean)).toBeUndefined();
  });
});
