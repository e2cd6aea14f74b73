/** A bandit of nineteen arms, five of which pay: generator and learner on WebGPU, weights adopted after each update. */

import { expect, it } from "vitest";
import { type CreditedBatch, sequences } from "../../src/domain/Batch.ts";
import type { Sampled } from "../../src/domain/Episode.ts";
import { GeneratorLoop } from "../../src/generation/GeneratorLoop.ts";
import { openResident } from "../../src/generation/ResidentModel.ts";
import { Trainer } from "../../src/learner/Trainer.ts";
import { fullPayload } from "../../src/model/weights/Weights.ts";
import { batchWith } from "../build/batches.ts";
import { loopOptions, reply } from "../generation/support.ts";
import { tiny, tinyParameters, trainerOptions } from "../learner/model.ts";
import { webgpu } from "./compared.ts";

const PULLS = 64;
const prompt = Int32Array.of(18, 17);
const pays = (arm: number): number => (arm < 5 ? 1 : 0);

const pullReplies = async <W>(loop: GeneratorLoop<W>, window: number): Promise<readonly Sampled[]> => {
  const replies = Array.from({ length: PULLS }, (_, pull) =>
    reply(loop, {
      sequence: window * PULLS + pull,
      append: prompt,
      sharedPrefix: 0,
      maxTokens: 1,
      sampling: { temperature: 1, topK: -1, topP: 1 },
      key: { seed: 3, purpose: "sampling", counters: [window, pull] },
      pin: null,
    }),
  );
  const all = await Promise.all(replies);
  for (const pull of replies.keys()) loop.release(window * PULLS + pull);
  return all;
};

/** One sequence a pull: the prompt and the arm, whose advantage is its pay over the mean. */
const batchOf = (pulls: readonly Sampled[], window: number): { batch: CreditedBatch; mean: number } => {
  const paid = pulls.map(({ ids }) => pays(ids[0] ?? -1));
  const mean = paid.reduce((sum, pay) => sum + pay, 0) / pulls.length;
  const length = prompt.length + 1;
  const tokens = pulls.length * length;
  const spread = (valueOfPull: (pull: number) => number): Float32Array =>
    Float32Array.from({ length: tokens }, (_, i) =>
      i % length === length - 1 ? valueOfPull(Math.floor(i / length)) : 0,
    );
  const batch: CreditedBatch = {
    ...batchWith({
      window,
      ids: Int32Array.from({ length: tokens }, (_, i) => prompt[i % length] ?? pulls[Math.floor(i / length)]!.ids[0]!),
      offsets: Int32Array.from({ length: pulls.length + 1 }, (_, i) => i * length),
      mask: Uint8Array.from(spread(() => 1)),
      mu: spread((pull) => pulls[pull]!.mu[0]!),
      versions: Int32Array.from({ length: tokens }, (_, i) => (i % length === length - 1 ? window : -1)),
      rewards: spread((pull) => paid[pull]!),
    }),
    advantages: spread((pull) => paid[pull]! - mean),
    values: new Float32Array(tokens),
    returns: new Float32Array(tokens),
  };
  return { batch, mean };
};

it("learns which arms pay", async () => {
  const model = await openResident(tiny, webgpu);
  const start = tinyParameters();
  const loop = new GeneratorLoop(
    model,
    { version: 0, payload: fullPayload(start.flat) },
    { ...loopOptions, slots: PULLS, prefillRows: PULLS },
  );
  const { actor, algorithm } = trainerOptions;
  await using trainer = await Trainer.open(tiny, start, {
    ...trainerOptions,
    device: webgpu,
    algorithm: { ...algorithm, adv_estimator: "grpo" },
    actor: { ...actor, lr: 0.03, ppo_mini_batch_size: PULLS, micro_batch_tokens: 256 },
  });
  const means: number[] = [];
  try {
    for (let window = 0; window < 8; window++) {
      const { batch, mean } = batchOf(await pullReplies(loop, window), window);
      expect(sequences(batch)).toBe(PULLS);
      means.push(mean);
      const { applied, version } = await trainer.update(batch);
      expect(applied).toBe(true);
      loop.offer(version, fullPayload(trainer.networks.actor.parameters.flat));
    }
  } finally {
    await loop.close();
  }
  expect(means[0]).toBeLessThan(0.6);
  expect(means.at(-1)).toBeGreaterThan(0.9);
});
