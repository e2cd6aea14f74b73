/** Training on what the environment shows (`rollout.enable_response_mask: false`): what its tokens are to the update. */
import { describe, expect, it } from "vitest";
import { type CreditedBatch, isSampled, sampledTokens, trainedTokens } from "../../src/domain/Batch.ts";
import { learner } from "../../src/domain/metrics/learner.ts";
import { valueIn } from "../../src/domain/metrics/Metrics.ts";
import { muOrProximal, sampledOnly } from "../../src/learner/observedTokens.ts";
import { Trainer } from "../../src/learner/Trainer.ts";
import type { TrainerOptions } from "../../src/learner/TrainerOptions.ts";
import { creditedBatch } from "../build/batches.ts";
import { tiny, tinyParameters, trainerOptions } from "./model.ts";

const batch = creditedBatch({ seed: 1, lengths: [20, 31, 9, 17], vocabulary: tiny.vocabSize });
/** The same batch with every token but the first of each sequence trained on. */
const shown: CreditedBatch = {
  ...batch,
  mask: batch.mask.map((_, t) => (batch.offsets.includes(t) ? 0 : 1)),
  advantages: batch.advantages.map((value, t) => (batch.mask[t] === 0 ? 0.5 : value)),
};
const oneStep = { ...trainerOptions.actor, ppo_mini_batch_size: 64 };
const open = (options: Partial<TrainerOptions> = {}) =>
  Trainer.open(tiny, tinyParameters(), { ...trainerOptions, actor: oneStep, ...options });

describe("tokens that nobody sampled", () => {
  it("are trained on but not counted as sampled", () => {
    expect(trainedTokens(shown)).toBe(shown.ids.length - 4);
    expect(sampledTokens(shown)).toBe(trainedTokens(batch));
    expect(sampledOnly(shown).mask).toEqual(batch.mask);
  });

  it("have the policy at the update's start for mu", () => {
    const proximal = Float32Array.from(shown.ids, (_, t) => -t);
    muOrProximal(shown, proximal).forEach((value, t) => {
      expect(value).toBe(isSampled(shown, t) ? shown.mu[t] : -t);
    });
  });

  it("make the log-probability of what is shown rise with the advantage that they are given", async () => {
    await using trainer = await open();
    const before = await trainer.logp(shown);
    await trainer.update({ ...shown, advantages: Float32Array.from(shown.mask, (m, t) => m - batch.mask[t]!) });
    const after = await trainer.logp(shown);
    const moved = shown.ids.reduce(
      (sum, _, t) => sum + (shown.mask[t]! - batch.mask[t]!) * (after[t]! - before[t]!),
      0,
    );
    expect(moved).toBeGreaterThan(0.1);
  });

  it.each(["none", "decoupled", "tis"] as const)(
    "have a ratio of 1 before the first step and the importance weight 1, with correction %s",
    async (correction) => {
      const algorithm = { ...trainerOptions.algorithm, correction, correction_cap: 0.5 };
      await using trainer = await open({ algorithm });
      // Only tokens that were shown are left to train on: a first step from ratio 1 has pg_loss = -mean(A w).
      const mask = shown.mask.map((m, t) => m - batch.mask[t]!);
      const { metrics } = await trainer.update({ ...shown, mask });
      expect(valueIn(metrics, learner.ratioMin)).toBeCloseTo(1, 5);
      expect(valueIn(metrics, learner.ratioMax)).toBeCloseTo(1, 5);
      expect(valueIn(metrics, learner.pgLoss)).toBeCloseTo(-0.5, 5);
    },
  );

  it("are left out where sampling and training are compared", async () => {
    const mismatch = async (given: CreditedBatch) => {
      await using trainer = await open({ algorithm: { ...trainerOptions.algorithm, correction: "tis" } });
      const { metrics } = await trainer.update(given);
      return [
        learner.mismatchMean,
        learner.mismatchKl,
        learner.mismatchEss,
        learner.staleFraction,
        learner.cappedFraction,
      ].map((metric) => valueIn(metrics, metric));
    };
    const sampled = await mismatch(batch);
    expect(sampled.every((value) => value !== undefined)).toBe(true);
    (await mismatch(shown)).forEach((value, i) => {
      expect(value).toBeCloseTo(sampled[i]!, 6);
    });
  });
});

it("a batch without them is given on as it is", () => {
  expect(sampledOnly(batch)).toBe(batch);
});
