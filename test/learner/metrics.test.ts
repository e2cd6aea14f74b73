import { describe, expect, it } from "vitest";
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
    expect(result["actor/pg_clipfrac"]).toBe(0.25);
    expect(result["actor/pg_clipfrac_lower"]).toBe(0.25);
    expect(result["actor/ppo_kl"]).toBeCloseTo(-Math.log(10) / 4, 5);
    expect(result["actor/ratio/max"]).toBeCloseTo(5, 4);
  });
});

describe("mismatch metrics", () => {
  it("tell tokens of these weights from older ones", () => {
    const metrics = mismatchMetrics(batch, [0], logp, 3);
    expect(metrics["mismatch/stale_fraction"]).toBe(0.5);
    expect(metrics["mismatch/fresh/abs/max"]).toBeCloseTo(Math.log(2), 5);
    expect(metrics["mismatch/stale/abs/max"]).toBeCloseTo(Math.log(5), 5);
    expect(metrics["mismatch/ess"]).toBeCloseTo((1 + 2 + 1 + 5) ** 2 / (4 * (1 + 4 + 1 + 25)), 4);
  });

  it("leave out a kind of which there is none", () => {
    const metrics = mismatchMetrics(batch, [0], logp, 2);
    expect("mismatch/stale/kl" in metrics).toBe(false);
    expect(metrics["mismatch/fresh/kl"]).toBe(metrics["mismatch/kl"]);
  });
});

describe("value metrics", () => {
  it("count predictions the clip makes worse", () => {
    const metrics = new ValueMetrics(0.5);
    metrics.add(batch, [0], Float32Array.from([0, 1, 0.2, 2, -1]));
    const result = metrics.result();
    expect(result["critic/vf_clipfrac"]).toBe(0.5);
    expect(result["critic/vpred_mean"]).toBeCloseTo(0.55, 6);
  });
});

describe("batch metrics", () => {
  it("are taken over sequences for scores and over trained tokens for the rest", () => {
    const metrics = batchMetrics(batch, true);
    expect(metrics["critic/score/mean"]).toBe(2);
    expect(metrics["critic/returns/mean"]).toBe(2);
    expect(metrics["critic/advantages/min"]).toBe(-1);
    expect(metrics["critic/vf_explained_var"]).toBeCloseTo(0, 4);
  });

  it("say nothing of values without a critic", () => {
    expect("critic/values/mean" in batchMetrics(batch, false)).toBe(false);
  });
});
