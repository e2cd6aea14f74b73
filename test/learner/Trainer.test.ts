import { describe, expect, it } from "vitest";
import { learner } from "../../src/domain/metrics/learner.ts";
import { toRecord, valueIn } from "../../src/domain/metrics/Metrics.ts";
import { stream } from "../../src/domain/Random.ts";
import { Cloner } from "../../src/learner/Cloner.ts";
import { Trainer } from "../../src/learner/Trainer.ts";
import type { TrainerOptions } from "../../src/learner/TrainerOptions.ts";
import { parameters } from "../../src/model/graphs/Architecture.ts";
import { initialise, namedTensors, parametersOf } from "../../src/model/graphs/Parameters.ts";
import { creditedBatch } from "../build/batches.ts";
import { decoders } from "../model/tiny.ts";
import { tiny, tinyParameters, trainerOptions } from "./model.ts";

const shape = { seed: 1, lengths: [20, 31, 9, 17, 24, 12], vocabulary: tiny.vocabSize };
const open = (options: Partial<TrainerOptions> = {}) =>
  Trainer.open(tiny, tinyParameters(), { ...trainerOptions, ...options });
const withActor = (actor: Partial<TrainerOptions["actor"]>): Partial<TrainerOptions> => ({
  actor: { ...trainerOptions.actor, ...actor },
});
const bits = (trainer: Trainer) => Buffer.from(trainer.networks.actor.parameters.flat.buffer).toString("base64");

const criticBits = (trainer: Trainer) => {
  const { moments, parameters } = trainer.networks.critic ?? trainer.networks.actor;
  const arrays = [parameters.flat, moments.first, moments.second];
  return arrays
    .map((array) => Buffer.from(array.buffer).toString("base64"))
    .concat(`${moments.steps}`)
    .join();
};

/** mu is the policy's own log-probability, so the ratio starts at 1. */
const onPolicy = async (trainer: Trainer, batch = creditedBatch(shape)) => ({
  ...batch,
  mu: await trainer.logp(batch),
});

describe("an update", () => {
  it("makes one version and raises the log-probability of tokens with a positive advantage", async () => {
    await using trainer = await open(withActor({ entropy_coeff: 0, ppo_epochs: 2 }));
    const batch = await onPolicy(trainer);
    const report = await trainer.update(batch);
    const after = await trainer.logp(batch);
    let moved = 0;
    batch.mask.forEach((m, t) => {
      if (m === 1) moved += batch.advantages[t]! * (after[t]! - batch.mu[t]!);
    });
    expect(moved).toBeGreaterThan(0.5);
    expect(report.version).toBe(1);
    expect(valueIn(report.metrics, learner.skipped)).toBe(0);
    expect(valueIn(report.metrics, learner.miniBatches)).toBe(4);
    expect([...report.metrics.values()].every(Number.isFinite)).toBe(true);
  });

  it.each(decoders)("of a %s trains every parameter of policy and critic", async (_, decoder) => {
    const config = { ...decoder, vocabSize: tiny.vocabSize };
    const start = initialise(parameters(config), stream({ seed: 7, purpose: "initialisation", counters: [] }), 0.2);
    await using trainer = await Trainer.open(config, start, trainerOptions);
    const batch = creditedBatch(shape);
    await trainer.update({ ...batch, mu: await trainer.logp(batch) });
    for (const { moments, parameters: trained } of [trainer.networks.actor, trainer.networks.critic!])
      for (const { name, values } of namedTensors(parametersOf(trained.specs, moments.second)))
        expect(
          values.some((value) => value > 0),
          name,
        ).toBe(true);
  });

  it("sees no mismatch where mu is the policy's own", async () => {
    await using trainer = await open();
    const { metrics } = await trainer.update(await onPolicy(trainer));
    expect(valueIn(metrics, learner.mismatchMax)).toBeLessThan(1e-5);
    expect(valueIn(metrics, learner.freshKl)).toBeLessThan(1e-9);
  });

  it("lowers the value loss of the batch it trains on", async () => {
    await using trainer = await open(withActor({ ppo_epochs: 8 }));
    const batch = creditedBatch(shape);
    const error = (values: Float32Array) =>
      values.reduce((sum, value, t) => sum + batch.mask[t]! * (value - batch.returns[t]!) ** 2, 0);
    const values = await trainer.values(batch);
    expect(values.every((value) => value === 0)).toBe(true);
    await trainer.update({ ...batch, values });
    expect(error(await trainer.values(batch))).toBeLessThan(error(values));
  });

  it("gives the same bits twice", async () => {
    const run = async () => {
      await using trainer = await open();
      for (const window of [0, 1]) await trainer.update(creditedBatch({ ...shape, window, seed: window }));
      return bits(trainer);
    };
    expect(await run()).toBe(await run());
  });

  it("leaves the actor alone during the critic's warm-up", async () => {
    await using trainer = await open({ critic: { ...trainerOptions.critic, warmup_windows: 1 } });
    const before = bits(trainer);
    const first = await trainer.update(creditedBatch(shape));
    expect([first.version, bits(trainer) === before]).toEqual([0, true]);
    expect(valueIn(first.metrics, learner.vfLoss)).toBeGreaterThan(0);
    const second = await trainer.update(creditedBatch(shape));
    expect([second.version, bits(trainer) === before]).toEqual([1, false]);
  });

  it("skips a step whose gradient is not finite and never writes it", async () => {
    await using trainer = await open();
    const before = bits(trainer);
    const batch = creditedBatch(shape);
    const report = await trainer.update({ ...batch, advantages: batch.advantages.fill(Number.NaN) });
    expect(report.version).toBe(0);
    expect(valueIn(report.metrics, learner.skipped)).toBe(valueIn(report.metrics, learner.miniBatches));
    expect(bits(trainer)).toBe(before);
    const parts = [learner.pgLoss, learner.entropy, learner.gradNorm].map((part) => valueIn(report.metrics, part));
    expect(parts).toEqual([undefined, undefined, undefined]);
    expect(valueIn(report.metrics, learner.vfLoss)).toBeGreaterThan(0);
  });

  const arrays = ["rewards", "mu", "values", "advantages", "returns"] as const;
  const words = { rewards: "rewards", mu: "sampled log-probabilities", values: "values", advantages: "advantages" };
  const bad = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  it.each(arrays.flatMap((array) => bad.map((value) => ({ array, value }))))(
    "trains no network on $value in the $array it reads, and says so",
    async ({ array, value }) => {
      await using trainer = await open();
      const batch = creditedBatch(shape);
      batch[array][batch.mask.lastIndexOf(1)] = value;
      const [actor, critic] = [bits(trainer), criticBits(trainer)];
      const report = await trainer.update(batch);
      const [policyReads, criticReads] = [array !== "returns", ["rewards", "values", "returns"].includes(array)];
      expect([bits(trainer) === actor, criticBits(trainer) === critic]).toEqual([policyReads, criticReads]);
      expect(report.untrained).toEqual(
        array === "returns"
          ? { network: "critic", notFinite: "returns" }
          : { network: "policy", notFinite: words[array] },
      );
      expect(report.applied).toBe(!(policyReads && criticReads));
      expect(trainer.state).toEqual({
        version: policyReads ? 0 : 1,
        windows: 1,
        actorUpdates: policyReads ? 0 : 1,
        criticUpdates: criticReads ? 0 : 1,
      });
      expect([...report.metrics.values()].every(Number.isFinite)).toBe(true);
      expect(valueIn(report.metrics, learner.skipped)).toBe(policyReads ? 2 : 0);
      expect(valueIn(report.metrics, learner.criticSkipped)).toBe(criticReads ? 2 : 0);
    },
  );

  it.each([
    ["actor", { network: "policy", notFinite: "new parameters" }],
    ["critic", { network: "critic", notFinite: "new parameters" }],
  ] as const)("at an enormous %s.lr leaves that network as it was and trains the other", async (section, untrained) => {
    await using trainer = await open({ [section]: { ...trainerOptions[section], lr: 1e308 } });
    const [actor, critic] = [bits(trainer), criticBits(trainer)];
    const report = await trainer.update(creditedBatch(shape));
    expect(report).toMatchObject({ applied: true, untrained });
    expect([bits(trainer) === actor, criticBits(trainer) === critic]).toEqual([
      section === "actor",
      section === "critic",
    ]);
    expect([...report.metrics.values()].every(Number.isFinite)).toBe(true);
    expect(await trainer.nonFiniteOutput()).toBeNull();
  });

  it("applies no step of finite weights that nothing can be computed with, and does not call them fit", async () => {
    // Parameters whose squares are finite, and whose products are not.
    await using trainer = await open(withActor({ lr: 1e12, ppo_mini_batch_size: 64 }));
    expect(await trainer.nonFiniteOutput()).toBeNull();
    expect((await trainer.update(creditedBatch(shape))).untrained).toBeNull();
    expect(await trainer.nonFiniteOutput()).toBe("the policy's log-probabilities");
    const before = bits(trainer);
    const report = await trainer.update(creditedBatch({ ...shape, window: 1 }));
    expect(report.untrained).toEqual({ network: "policy", notFinite: "loss" });
    expect(bits(trainer)).toBe(before);
    expect([...report.metrics.values()].every(Number.isFinite)).toBe(true);
  });

  it("trains on after one it could not apply as if that one had not been", async () => {
    await using poisoned = await open();
    await using healthy = await open();
    const batch = creditedBatch(shape);
    await poisoned.update({ ...batch, rewards: batch.rewards.map(() => Number.NaN) });
    for (const trainer of [poisoned, healthy]) await trainer.update(creditedBatch({ ...shape, window: 1 }));
    expect([bits(poisoned), criticBits(poisoned)]).toEqual([bits(healthy), criticBits(healthy)]);
  });

  it("of an empty batch reports counts and rates alone", async () => {
    await using trainer = await open();
    const { metrics, applied } = await trainer.update(creditedBatch({ ...shape, lengths: [] }));
    expect(applied).toBe(false);
    expect(toRecord(metrics)).toEqual({
      "critic/lr": 1e-3,
      "critic/skipped_not_finite": 0,
      "actor/lr": 1e-3,
      "actor/skipped_not_finite": 0,
      "train/num_mini_batches": 0,
    });
  });

  it("has no critic with group-relative advantages", async () => {
    await using trainer = await open({ algorithm: { ...trainerOptions.algorithm, adv_estimator: "grpo" } });
    expect(trainer.networks.critic).toBeUndefined();
    expect((await trainer.values(creditedBatch(shape))).every((value) => value === 0)).toBe(true);
    const { metrics } = await trainer.update(creditedBatch(shape));
    expect(valueIn(metrics, learner.vfLoss)).toBeUndefined();
  });
});

describe("corrections and the reference", () => {
  it.each(["decoupled", "tis", "icepop", "seq_tis", "seq_mask", "seq_reject"] as const)(
    "%s takes the ratio against the re-scored policy",
    async (correction) => {
      await using trainer = await open({
        algorithm: { ...trainerOptions.algorithm, correction },
        ...withActor({ ppo_mini_batch_size: 64 }),
      });
      const { metrics, seconds } = await trainer.update(creditedBatch(shape));
      // one mini-batch: the policy is still the re-scored one, whatever mu was
      expect(valueIn(metrics, learner.ratioMax)).toBeCloseTo(1, 4);
      expect(valueIn(metrics, learner.mismatchMean)).toBeGreaterThan(0.1);
      expect(valueIn(seconds, learner.timing.of({ phase: "old_log_prob" }))).toBeGreaterThan(0);
    },
  );

  it("loglinear needs no pass of its own, and is decoupled PPO before the first step of an update", async () => {
    // All tokens are of older weights, and the mini-batch is the whole window: pi_prox is the policy itself.
    const older = async (correction: "loglinear" | "decoupled") => {
      await using trainer = await open({
        algorithm: { ...trainerOptions.algorithm, correction },
        ...withActor({ ppo_mini_batch_size: 64 }),
      });
      await trainer.update(await onPolicy(trainer));
      const batch = creditedBatch({ ...shape, window: 1, seed: 3 });
      const report = await trainer.update(batch);
      return report;
    };
    const [interpolated, scored] = [await older("loglinear"), await older("decoupled")];
    expect(valueIn(interpolated.seconds, learner.timing.of({ phase: "old_log_prob" }))).toBeUndefined();
    for (const metric of [learner.weightEss, learner.droppedFraction, learner.cappedFraction, learner.pgLoss])
      expect(valueIn(interpolated.metrics, metric)).toBeCloseTo(valueIn(scored.metrics, metric) ?? Number.NaN, 3);
    expect(valueIn(interpolated.metrics, learner.ratioMax)).toBeCloseTo(1, 4);
  });

  it("V-trace takes the log-probabilities that credit had, and scores nothing again", async () => {
    const algorithm = { ...trainerOptions.algorithm, correction: "vtrace" as const };
    await using trainer = await open({ algorithm, ...withActor({ ppo_mini_batch_size: 64 }) });
    const batch = creditedBatch(shape);
    const credited = await trainer.credit(batch);
    expect(credited.batch.proximal).toEqual(await trainer.logp(batch));
    const { metrics, seconds } = await trainer.update(credited.batch);
    expect(valueIn(metrics, learner.ratioMax)).toBeCloseTo(1, 4);
    expect(valueIn(metrics, learner.weightMean)).toBeLessThan(1);
    expect(valueIn(seconds, learner.timing.of({ phase: "old_log_prob" }))).toBeUndefined();
  });

  it("a sequence that the correction rejects moves the policy no further than the others do", async () => {
    // The second sequence is far off: its ratio is outside the bounds.
    const whole = creditedBatch({ ...shape, lengths: [20, 14] });
    const moved = async (advantage: number) => {
      await using trainer = await open({
        algorithm: { ...trainerOptions.algorithm, correction: "seq_reject", correction_ratio: "geometric" },
        ...withActor({ ppo_mini_batch_size: 64 }),
      });
      const mu = await trainer.logp(whole);
      const [from, to] = [20, 34];
      await trainer.update({
        ...whole,
        mu: mu.map((value, t) => (t >= from && t < to ? value - 3 * whole.mask[t]! : value)),
        advantages: whole.advantages.map((value, t) => (t >= from && t < to ? advantage * whole.mask[t]! : value)),
      });
      return bits(trainer);
    };
    expect(await moved(1)).toBe(await moved(-5));
  });

  it("measures the divergence from the starting weights as the policy leaves them", async () => {
    await using trainer = await open(withActor({ use_kl_loss: true, kl_loss_coef: 0.01, ppo_mini_batch_size: 64 }));
    const first = await trainer.update(creditedBatch(shape));
    const second = await trainer.update(creditedBatch(shape));
    expect(valueIn(first.metrics, learner.klLoss)).toBeCloseTo(0, 6);
    expect(valueIn(second.metrics, learner.klLoss)).toBeGreaterThan(1e-6);
  });
});

it.each([1e308, Number.NaN])("applies no step of cloning at the rate %d", async (lr) => {
  await using trainer = await open();
  const before = bits(trainer);
  const report = await new Cloner(trainer).step(creditedBatch(shape), lr);
  expect(report).toMatchObject({ applied: false, notFinite: "new parameters" });
  expect([bits(trainer), trainer.state.version]).toEqual([before, 0]);
});

it("measures the cloning loss that a step reports, and changes nothing by it", async () => {
  await using trainer = await open();
  const cloning = new Cloner(trainer);
  const batch = creditedBatch(shape);
  const before = bits(trainer);
  const loss = await cloning.loss(batch);
  expect([bits(trainer), trainer.state.version]).toEqual([before, 0]);
  expect((await cloning.step(batch, 1e-2)).loss).toBe(loss);
  expect(await cloning.loss(batch)).toBeLessThan(loss ?? 0);
});

it("overfits a small batch by cloning it", async () => {
  await using trainer = await open();
  const batch = creditedBatch({ ...shape, lengths: [12, 9] });
  const cloning = new Cloner(trainer);
  const losses = [];
  for (let step = 0; step < 60; step++) losses.push((await cloning.step(batch, 1e-2)).loss);
  expect(losses[0]).toBeGreaterThan(2);
  expect(losses.at(-1)).toBeLessThan(0.05);
});
