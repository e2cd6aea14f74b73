import { describe, expect, it } from "vitest";
import { learner } from "../../src/domain/metrics/learner.ts";
import { type Metrics, toRecord, valueIn } from "../../src/domain/metrics/Metrics.ts";
import {
  batchMetrics,
  mismatchMetrics,
  SurrogateMetrics,
  ValueMetrics,
  WeightMetrics,
} from "../../src/learner/updateMetrics.ts";
import { creditedBatch } from "../build/batches.ts";

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

/** Values of a family by what its name ends with. */
const byStaleness = (metrics: Metrics, family: (typeof learner)["klByStaleness" | "clipFractionByStaleness"]) => {
  const start = family.template.replace("{staleness}", "");
  const entries = Object.entries(toRecord(metrics)).filter(([name]) => name.startsWith(start));
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(start.length), value]));
};
const clipFractions = (metrics: Metrics) => byStaleness(metrics, learner.clipFractionByStaleness);

describe("surrogate metrics", () => {
  it("count the tokens each clip holds back", () => {
    const metrics = new SurrogateMetrics({ low: 0.2, high: 0.28, dual: 3 }, 3);
    metrics.add(batch, [0], logp, batch.mu);
    const result = metrics.result();
    // ratio 2 at a positive advantage meets the upper clip, ratio 5 at a negative one the dual clip
    expect(valueIn(result, learner.clipFraction)).toBe(0.25);
    expect(valueIn(result, learner.clipFractionLower)).toBe(0.25);
    expect(valueIn(result, learner.ppoKl)).toBeCloseTo(-Math.log(10) / 4, 5);
    expect(valueIn(result, learner.ratioMax)).toBeCloseTo(5, 4);
  });

  it("count them by how old the token's weights are", () => {
    const metrics = new SurrogateMetrics({ low: 0.2, high: 0.28, dual: 0 }, 4);
    metrics.add({ ...batch, advantages: new Float32Array(5).fill(1) }, [0], logp, batch.mu);
    // Ratios 1 and 2 of weights one version behind, 1 and 5 of two.
    expect(clipFractions(metrics.result())).toEqual({ "1": 0.5, "2": 0.5 });
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

  it("tell tokens by how many versions their weights are behind, the oldest together", () => {
    const versions = Int32Array.from([-1, 9, 8, 1, 0]);
    const metrics = mismatchMetrics({ ...batch, versions }, [0], logp, 9);
    const k3 = (ratio: number) => ratio - 1 - Math.log(ratio);
    const kl = byStaleness(metrics, learner.klByStaleness);
    expect(Object.keys(kl)).toEqual(["0", "1", "8_or_more"]);
    expect(kl["0"]).toBeCloseTo(k3(1), 6);
    expect(kl["1"]).toBeCloseTo(k3(2), 6);
    expect(kl["8_or_more"]).toBeCloseTo((k3(1) + k3(5)) / 2, 5);
    const ess = valueIn(metrics, learner.essByStaleness.of({ staleness: "8_or_more" }));
    expect(ess).toBeCloseTo((1 + 5) ** 2 / (2 * (1 + 25)), 5);
  });

  it("count no token by staleness that no weights sampled", () => {
    const metrics = mismatchMetrics({ ...batch, versions: Int32Array.from([-1, -1, -1, -1, 3]) }, [0], logp, 3);
    expect(Object.keys(byStaleness(metrics, learner.klByStaleness))).toEqual(["0"]);
  });

  it("leave out a kind of which there is none", () => {
    const metrics = mismatchMetrics(batch, [0], logp, 2);
    expect(valueIn(metrics, learner.staleKl)).toBeUndefined();
    expect(valueIn(metrics, learner.freshKl)).toBe(valueIn(metrics, learner.mismatchKl));
  });
});

describe("weight metrics", () => {
  it("tell what share of the sample a correction leaves", () => {
    const two = { mask: Uint8Array.of(0, 1, 1, 0, 1, 1), offsets: Int32Array.of(0, 3, 6) };
    const metrics = new WeightMetrics();
    metrics.add(two, [0, 1], { importance: Float32Array.of(1, 2, 1, 1, 0, 0), capped: 3 });
    const result = metrics.result();
    expect(valueIn(result, learner.weightEss)).toBeCloseTo(9 / (4 * 5), 6);
    expect(valueIn(result, learner.weightMean)).toBe(0.75);
    expect(valueIn(result, learner.droppedFraction)).toBe(0.5);
    expect(valueIn(result, learner.droppedSequences)).toBe(0.5);
    expect(valueIn(result, learner.cappedFraction)).toBe(0.75);
  });

  it("say nothing where nothing was weighed", () => {
    expect(new WeightMetrics().result().size).toBe(0);
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

  it("count the score of an episode once, whichever way it lies over its sequences", () => {
    const two = creditedBatch({ seed: 1, lengths: [4, 4], vocabulary: 9 });
    const rewards = new Float32Array(8).with(3, 2).with(7, 2);
    const episode = { ...two, rewards, members: Int32Array.of(0, 0), sequenceIndex: Int32Array.of(0, 1) };
    expect(valueIn(batchMetrics({ ...episode, placement: "turn" }, false), learner.scoreMax)).toBe(4);
    expect(valueIn(batchMetrics({ ...episode, placement: "sequence" }, false), learner.scoreMax)).toBe(2);
  });

  it("say nothing of values without a critic", () => {
    expect(valueIn(batchMetrics(batch, false), learner.valuesMean)).toBeUndefined();
  });
});
