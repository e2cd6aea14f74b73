/** Off-policy corrections against PyTorch, from the rewards of a window to the gradient of the policy's loss by each log-probability. */
import { describe, expect, it } from "vitest";
import { AlgorithmSection, type RunConfig } from "../../src/config/RunConfig.ts";
import { allSequences } from "../../src/domain/Batch.ts";
import { type Aggregation, tokenWeights } from "../../src/learner/batches.ts";
import { type Correction, correct, needsProximal } from "../../src/learner/corrections/correct.ts";
import { interpolatedCorrection, logLinearPlaces } from "../../src/learner/corrections/logLinear.ts";
import { assignCredit } from "../../src/learner/credit.ts";
import { LossMetrics } from "../../src/learner/LossMetrics.ts";
import { policyLossOptions } from "../../src/learner/models.ts";
import { mismatchMetrics, WeightMetrics } from "../../src/learner/updateMetrics.ts";
import { configsOf, configWith } from "../build/config.ts";
import golden from "../fixtures/estimators/estimators.json" with { type: "json" };
import {
  expectMetrics,
  expectNear,
  expectTokens,
  logp,
  proximal,
  reference,
  values,
  window,
} from "./estimatorsFixture.ts";
import { Alone, sequencesOf } from "./losses/Alone.ts";

const batch = window("turn");
const all = allSequences(batch);
const { version } = golden.batch;
const actor: RunConfig["actor"] = {
  ...configWith().actor,
  clip_ratio_low: golden.clip.low,
  clip_ratio_high: golden.clip.high,
  clip_ratio_c: golden.clip.dual,
  entropy_coeff: 0,
  use_kl_loss: true,
  kl_loss_coef: golden.kl,
  kl_loss_type: "k3",
};
const algorithmOf = configsOf(AlgorithmSection);
const credited = (algorithm: RunConfig["algorithm"]) =>
  assignCredit(batch, { values, rewards: batch.rewards, proximal }, { algorithm, lossScaling: "none" });

interface Golden {
  readonly mode: string;
  readonly importance: readonly number[];
  readonly metrics: Readonly<Record<string, number>>;
  readonly loss: number;
  readonly gradLogp: readonly number[];
}

const expectWeights = (correction: Correction, expected: Golden): void => {
  expectTokens(correction.importance, expected.importance, 1);
  const metrics = new WeightMetrics();
  metrics.add(batch, all, correction);
  expectMetrics(metrics.result(), expected.metrics);
};

/** `given`: what the loss takes of the correction. */
const expectLoss = async (
  algorithm: RunConfig["algorithm"],
  given: Pick<Correction, "importance" | "old"> & { readonly places?: Float32Array },
  expected: Golden,
): Promise<void> => {
  const mode: Aggregation = expected.mode === "token-mean" ? "token-mean" : "seq-mean-token-mean";
  const { advantages } = credited(algorithm);
  const weights = tokenWeights(batch, all, mode);
  await using alone = await Alone.open(policyLossOptions(actor, algorithm));
  const entropy = new Float32Array(logp.length);
  const { dlogp, loss } = await alone.run(
    sequencesOf(batch, { logp, entropy, advantages, weights, reference, ...given }),
  );
  expectNear(loss, expected.loss);
  expectTokens(dlogp, expected.gradLogp);
};

describe("a correction weighs tokens, and the loss has the value and the gradient, as in PyTorch", () => {
  it.each(golden.corrections)("$algorithm, $mode", async (expected) => {
    const algorithm = algorithmOf(expected.algorithm);
    const correction = correct(batch, proximal, algorithm);
    expect(correction.old).toBe(needsProximal(algorithm.correction) ? proximal : batch.mu);
    expectWeights(correction, expected);
    await expectLoss(algorithm, correction, expected);
  });

  it.each(golden.logLinear)("$algorithm, with $taken of the update done", async (expected) => {
    const algorithm = algorithmOf(expected.algorithm);
    const places = logLinearPlaces(batch, version, expected.taken);
    expectTokens(places, expected.places);
    const correction = interpolatedCorrection(batch, all, { cap: algorithm.correction_cap, logp, places });
    expectTokens(correction.old, expected.old);
    expectWeights(correction, expected);
    const { importance, old } = correct(batch, undefined, algorithm);
    await expectLoss(algorithm, { importance, old, places }, expected);
  });
});

describe("an update measures of its tokens what PyTorch does", () => {
  it("how far the policy is from the one that sampled, by age too", () => {
    expectMetrics(mismatchMetrics({ ...batch, mu: proximal }, all, logp, version), golden.metrics.mismatch);
  });

  it("which tokens the clip leaves no gradient", () => {
    const metrics = new LossMetrics({ loss: "ppo", clip: golden.clip }, version);
    metrics.add(credited(algorithmOf({})), all, logp, proximal);
    expectMetrics(metrics.result(), golden.metrics.clipping);
  });
});
