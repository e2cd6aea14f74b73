import { describe, expect, it } from "vitest";
import { learner } from "../../src/domain/metrics/learner.ts";
import type { Metric } from "../../src/domain/metrics/Metric.ts";
import { valueIn } from "../../src/domain/metrics/Metrics.ts";
import { LossMetrics, sequenceLevel } from "../../src/learner/LossMetrics.ts";
import type { PolicyLossName } from "../../src/learner/losses/policyLoss.ts";
import { creditedBatch } from "../build/batches.ts";

const clip = { low: 0.2, high: 0.28, dual: 3 };
/** Two sequences of four targets each, behind a first id that is none. */
const base = creditedBatch({ seed: 1, lengths: [5, 5], vocabulary: 19 });
const mask = Uint8Array.of(0, 1, 1, 1, 1, 0, 1, 1, 0, 1);
const old = new Float32Array(10).fill(-2);
const advantages = Float32Array.of(0, 1, 1, 1, 1, 0, -1, -1, 0, -1);
const moved = [0, 0.5, 0.5, -0.2, 0.4, 0, -0.1, -0.5, 0, -0.3];
const logp = Float32Array.from(moved, (d) => -2 + d);

const metricsOf = (loss: PolicyLossName) => {
  const metrics = new LossMetrics({ loss, clip }, 0);
  metrics.add({ ...base, mask, advantages }, [0, 1], logp, old);
  const result = metrics.result();
  return (metric: Metric) => valueIn(result, metric);
};

describe("clipping is told of the ratio that the loss clips", () => {
  it("ppo: a token's", () => {
    const metric = metricsOf("ppo");
    // exp(0.5), exp(0.5) and exp(0.4) of a positive advantage, exp(-0.5) and exp(-0.3) of a negative one.
    expect(metric(learner.clipFraction)).toBeCloseTo(5 / 7, 6);
    expect(metric(learner.ratioMax)).toBeCloseTo(Math.exp(0.5), 5);
  });

  it("gspo: its sequence's", () => {
    const metric = metricsOf("gspo");
    // exp(0.3) and exp(-0.3): all tokens of both.
    expect(metric(learner.clipFraction)).toBeCloseTo(1, 6);
    expect(metric(learner.ratioMax)).toBeCloseTo(Math.exp(0.3), 5);
    expect(metric(learner.ratioMin)).toBeCloseTo(Math.exp(-0.3), 5);
  });

  it("geo_mean: a token's log ratio", () => {
    // Above 0.28: three of a positive advantage; below -0.2: two of a negative one.
    expect(metricsOf("geo_mean")(learner.clipFraction)).toBeCloseTo(5 / 7, 6);
  });

  it.each(["cispo", "gpg"] as const)("%s: none", (loss) => {
    const metric = metricsOf(loss);
    expect([metric(learner.clipFraction), metric(learner.clipFractionLower)]).toEqual([undefined, undefined]);
    expect(metric(learner.ratioMean)).toBeGreaterThan(0);
  });
});

it("the level of a sequence keeps its mean log ratio, and is 0 where nothing is trained", () => {
  const level = sequenceLevel({ ...base, mask }, [0, 1], logp, old);
  expect([...level].map((value, t) => (mask[t] === 0 ? value : value + 2))).toEqual(
    [0, 0.3, 0.3, 0.3, 0.3, 0, -0.3, -0.3, 0, -0.3].map((value) => expect.closeTo(value, 5)),
  );
});
