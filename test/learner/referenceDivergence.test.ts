/** The divergence from the reference policy in the reward, its adaptive coefficient, and a reference that is renewed. */
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { learner } from "../../src/domain/metrics/learner.ts";
import { valueIn } from "../../src/domain/metrics/Metrics.ts";
import { klOf } from "../../src/learner/losses/klEstimate.ts";
import { Trainer } from "../../src/learner/Trainer.ts";
import { restoreTrainer, saveTrainer } from "../../src/learner/TrainerCheckpoint.ts";
import type { TrainerOptions } from "../../src/learner/TrainerOptions.ts";
import type { RestoredTrainer } from "../../src/learner/TrainerState.ts";
import { creditedBatch } from "../build/batches.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { tiny, tinyParameters, trainerOptions } from "./model.ts";

const batchOf = (window: number) =>
  creditedBatch({ seed: 1, window, lengths: [20, 31, 9, 17, 24, 12], vocabulary: tiny.vocabSize });
const inReward: Partial<TrainerOptions> = {
  algorithm: {
    ...trainerOptions.algorithm,
    use_kl_in_reward: true,
    kl_penalty: "k3",
    kl_ctrl: { type: "adaptive", kl_coef: 0.2, target_kl: 0.01, horizon: 60 },
  },
};
const withActor = (actor: Partial<TrainerOptions["actor"]>): Partial<TrainerOptions> => ({
  actor: { ...trainerOptions.actor, ...actor },
});
const open = (options: Partial<TrainerOptions>, restored?: RestoredTrainer) =>
  Trainer.open(tiny, tinyParameters(), { ...trainerOptions, ...options }, restored);
const bits = ({
  networks: {
    actor: { moments, parameters },
  },
}: Trainer) =>
  [parameters.flat, moments.first, moments.second].map((array) => Buffer.from(array.buffer).toString("base64")).join();

describe("the divergence in the reward", () => {
  it("is taken off before credit, against the starting weights", async () => {
    await using trainer = await open(inReward);
    const batch = batchOf(0);
    const reference = await trainer.logp(batch);
    const { rewards } = (await trainer.credit(batch)).batch;
    batch.mask.forEach((trained, t) => {
      const off = trained === 0 ? 0 : 0.2 * klOf(batch.mu[t]!, reference[t]!, "k3");
      expect(rewards[t]).toBeCloseTo(batch.rewards[t]! - off, 5);
    });
  });

  it("is told by the update, and moves the coefficient for the next window", async () => {
    await using trainer = await open(inReward);
    const batch = batchOf(0);
    const { metrics } = await trainer.train({ kept: batch, unfiltered: undefined });
    expect(valueIn(metrics, learner.rewardKlCoefficient)).toBe(0.2);
    expect(valueIn(metrics, learner.rewardKlPenalty)).toBeGreaterThan(0.1);
    // Six sequences of a horizon of 60, an error beyond the bound of a fifth.
    expect(trainer.state.klCoefficient).toBeCloseTo(0.2 * 1.02, 12);
    const [score, reward] = [valueIn(metrics, learner.scoreMean)!, valueIn(metrics, learner.rewardsMean)!];
    expect(score).toBeGreaterThan(reward);
    const sums = batch.rewards.reduce((sum, value) => sum + value, 0);
    expect(score).toBeCloseTo(sums / 6, 5);
  });

  it("counts when the window is trained on, however often credit is assigned", async () => {
    await using trainer = await open(inReward);
    for (let i = 0; i < 3; i++) await trainer.credit(batchOf(0));
    expect(trainer.state.klCoefficient).toBeUndefined();
    const { metrics } = await trainer.update(batchOf(1));
    expect(valueIn(metrics, learner.rewardKlPenalty)).toBeUndefined();
    expect(trainer.state.klCoefficient).toBeUndefined();
  });

  it("is scored once where the loss has one too, with the same numbers", async () => {
    const both = { ...inReward, ...withActor({ use_kl_loss: true, kl_loss_coef: 0.1 }) };
    await using scored = await open(both);
    await using scoring = await open(both);
    const { batch } = await scoring.credit(batchOf(0));
    const { seconds } = await scored.train({ kept: batchOf(0), unfiltered: undefined });
    await scoring.update(batch);
    expect(bits(scored)).toBe(bits(scoring));
    expect([...seconds.keys()].filter((name) => name === "timing_s/ref")).toHaveLength(1);
  });

  it("leaves the rewards as they are where it is off", async () => {
    await using trainer = await open({});
    const batch = batchOf(0);
    expect((await trainer.credit(batch)).batch.rewards).toBe(batch.rewards);
  });
});

describe("a renewed reference", () => {
  const renewing = withActor({ use_kl_loss: true, kl_loss_coef: 0.1, ref_update_freq: 2, ppo_mini_batch_size: 64 });

  it("is the policy as it was after every so many windows", async () => {
    await using trainer = await open(renewing);
    const divergences: (number | undefined)[] = [];
    for (const window of [0, 1, 2, 3]) {
      const { metrics } = await trainer.update(batchOf(window));
      divergences.push(valueIn(metrics, learner.klLoss));
    }
    const [first, second, third, fourth] = divergences.map((value) => value ?? Number.NaN);
    // One mini-batch a window: the divergence is that from before its step.
    expect([first, third].map((value) => Math.abs(value!) < 1e-6)).toEqual([true, true]);
    expect([second, fourth].map((value) => value! > 1e-6)).toEqual([true, true]);
    expect(trainer.networks.reference?.flat).toEqual(trainer.networks.actor.parameters.flat);
  });

  it("stays the starting weights where it is never renewed, and is no part of a checkpoint then", async () => {
    await using trainer = await open(withActor({ use_kl_loss: true, kl_loss_coef: 0.1 }));
    await trainer.update(batchOf(0));
    expect(trainer.networks.reference).toBeUndefined();
  });
});

describe("a checkpoint", () => {
  const files = {
    config: tiny,
    tokens: { bos: undefined, eos: [0], pad: undefined },
    tokenizer: { tokenizerJson: {}, tokenizerConfig: {} },
  };
  const options = { ...inReward, ...withActor({ use_kl_loss: true, kl_loss_coef: 0.5, ref_update_freq: 2 }) };
  const train = async (trainer: Trainer, windows: readonly number[]) => {
    for (const window of windows) await trainer.train({ kept: batchOf(window), unfiltered: undefined });
  };

  it.effect("goes on bit for bit with the coefficient and the reference of its moment", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const ended = yield* Effect.promise(async () => {
        await using whole = await open(options);
        await train(whole, [0, 1, 2]);
        const { networks, state } = whole;
        const { actor, critic, reference } = networks;
        await Effect.runPromise(saveTrainer(folder, files, state, actor, critic, { reference }));
        await train(whole, [3, 4]);
        return { bits: bits(whole), state: whole.state, reference: whole.networks.reference?.flat };
      });
      const restored = yield* restoreTrainer(folder, tiny);
      expect(restored.state.klCoefficient).toBeGreaterThan(0.2);
      expect(restored.reference?.flat).not.toEqual(tinyParameters().flat);
      expect(restored.reference?.flat).not.toEqual(restored.actor.parameters.flat);
      yield* Effect.promise(async () => {
        await using resumed = await open(options, restored);
        await train(resumed, [3, 4]);
        expect(bits(resumed)).toBe(ended.bits);
        expect(resumed.state).toEqual(ended.state);
        expect(resumed.networks.reference?.flat).toEqual(ended.reference);
      });
    }),
  );
});
