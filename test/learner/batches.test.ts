import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundsOf, lengthOf } from "../../src/domain/Batch.ts";
import { bucket } from "../../src/domain/Passes.ts";
import {
  gatherTargets,
  microBatches,
  miniBatches,
  paddedIds,
  scatterTargets,
  targetsOf,
  tokenWeights,
} from "../../src/learner/batches.ts";
import { tokenBatch } from "../build/batches.ts";
import { assertProperty } from "../property.ts";

const batch = tokenBatch({ seed: 3, lengths: [20, 40, 7, 33, 18], vocabulary: 9 });
const all = [0, 1, 2, 3, 4];
const order = { seed: 5, window: 2, epoch: 0 };

describe("mini-batches", () => {
  it("hold every sequence once, at most `size` each, in nearly equal parts", () => {
    assertProperty(
      fc.property(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 64 }), (count, size) => {
        const parts = miniBatches(count, size, order);
        expect(parts.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
        const lengths = parts.map((part) => part.length);
        if (count > 0) expect(Math.max(...lengths)).toBeLessThanOrEqual(size);
        if (count > 0) expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("are drawn anew for every window and epoch, and again the same for the same ones", () => {
    expect(miniBatches(64, 16, order)).toEqual(miniBatches(64, 16, order));
    expect(miniBatches(64, 16, order)).not.toEqual(miniBatches(64, 16, { ...order, epoch: 1 }));
    expect(miniBatches(64, 16, order)).not.toEqual(miniBatches(64, 16, { ...order, window: 3 }));
  });
});

describe("micro-batches", () => {
  it("keep within the padded token budget and hold every sequence once", () => {
    const cut = microBatches(batch, all, 96);
    expect(cut.flatMap(({ sequences }) => sequences).sort()).toEqual(all);
    for (const { sequences, time } of cut) {
      expect(sequences.length * time <= 96 || sequences.length === 1).toBe(true);
      expect(sequences.every((sequence) => lengthOf(batch, sequence) <= time)).toBe(true);
    }
  });

  it("pad to few lengths", () => {
    expect([1, 16, 17, 250, 257, 400, 513, 1030].map(bucket)).toEqual([16, 16, 32, 256, 272, 400, 544, 1088]);
  });

  const micro = { sequences: [2, 0], time: 32 };
  const targets = targetsOf(batch, micro);

  it("have the trained tokens of their sequences for targets, and the place before each", () => {
    const ids = paddedIds(batch, micro);
    const trained = [2, 0].flatMap((sequence) =>
      Array.from({ length: lengthOf(batch, sequence) }, (_, t) => ({
        position: boundsOf(batch, sequence)[0] + t,
        first: t === 0,
      })).filter(({ position, first }) => !first && batch.mask[position] === 1),
    );
    expect([...targets.positions]).toEqual(trained.map(({ position }) => position));
    expect(trained.length).toBeGreaterThan(0);
    const after = Array.from(targets.before.subarray(0, trained.length), (place) => ids[Number(place) + 1]);
    expect(after.map(Number)).toEqual(Array.from(targets.positions, (position) => batch.ids[position]));
  });

  it("number the sequences that have targets, from 0", () => {
    const mask = batch.mask.slice();
    mask.fill(0, ...boundsOf(batch, 1));
    const cut = targetsOf({ ...batch, mask }, { sequences: [2, 1, 0], time: 64 });
    const owner = (position: number) => (position >= boundsOf(batch, 2)[0] ? 0 : 1);
    expect(new Set(cut.positions.map(owner))).toEqual(new Set([0, 1]));
    expect([...cut.sequences.subarray(0, cut.positions.length)].map(Number)).toEqual([...cut.positions].map(owner));
    expect(cut.sequences.length).toBe(cut.before.length);
  });

  it("pad to few counts of targets", () => {
    expect(targets.before.length % 64).toBe(0);
    expect(targets.before.length - targets.positions.length).toBeLessThan(64);
    expect([...targets.before.subarray(targets.positions.length)].every((place) => place === 0n)).toBe(true);
  });

  it("give values to targets and back, leaving other positions alone", () => {
    const values = Float32Array.from(batch.ids, (id, position) => id + position / 1000);
    const back = new Float32Array(batch.ids.length).fill(-1);
    scatterTargets(targets, gatherTargets(targets, values), back);
    const isTarget = new Set(targets.positions);
    expect([...back]).toEqual([...values].map((value, position) => (isTarget.has(position) ? value : -1)));
  });
});

describe("token weights", () => {
  const trained = all.map((i) => batch.mask.subarray(...boundsOf(batch, i)).reduce((a, b) => a + b, 0));
  const tokens = trained.reduce((a, b) => a + b, 0);
  const weightOf = (weights: Float32Array, sequence: number) => weights[boundsOf(batch, sequence)[1] - 1];

  it("are those of each aggregation", () => {
    expect(weightOf(tokenWeights(batch, all, "token-mean"), 1)).toBeCloseTo(1 / tokens, 7);
    expect(weightOf(tokenWeights(batch, all, "seq-mean-token-mean"), 1)).toBeCloseTo(1 / (5 * (trained[1] ?? 0)), 7);
    expect(weightOf(tokenWeights(batch, all, "seq-mean-token-sum"), 1)).toBeCloseTo(1 / 5, 7);
    expect(weightOf(tokenWeights(batch, all, "seq-mean-token-sum-norm"), 1)).toBeCloseTo(1 / 40, 7);
  });

  it("are 0 off the mini-batch and where nothing is trained", () => {
    const weights = tokenWeights(batch, [1, 3], "token-mean");
    const bounds = [1, 3].map((sequence) => boundsOf(batch, sequence));
    weights.forEach((weight, t) => {
      const inside = bounds.some(([from, to]) => t >= from && t < to);
      expect(weight > 0).toBe(inside && batch.mask[t] === 1);
    });
  });
});
