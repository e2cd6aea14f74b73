/** A learner that trains an adapter: what changes, what the reference is, and how it goes on. */
import { readdir } from "node:fs/promises";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { learner } from "../../src/domain/metrics/learner.ts";
import { valueIn } from "../../src/domain/metrics/Metrics.ts";
import { scoreOnce } from "../../src/learner/TokenScorer.ts";
import { Trainer } from "../../src/learner/Trainer.ts";
import { restoreTrainer, saveTrainer } from "../../src/learner/TrainerCheckpoint.ts";
import type { TrainerOptions } from "../../src/learner/TrainerOptions.ts";
import type { RestoredTrainer } from "../../src/learner/TrainerState.ts";
import type { DecoderConfig } from "../../src/model/graphs/Architecture.ts";
import { freshAdapter, trainedCriticParameters, trainedParameters } from "../../src/model/graphs/TrainedParameters.ts";
import { baseOf } from "../../src/model/runtime/baseFeeds.ts";
import { creditedBatch } from "../build/batches.ts";
import { draws } from "../model/tiny.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { adapted, frozen } from "./adapted.ts";
import { tiny, trainerOptions } from "./model.ts";

const sizes: DecoderConfig = { ...adapted, adapter: undefined };

const adapter = () => freshAdapter(trainedParameters(adapted), draws(5));
const batchOf = (window: number) =>
  creditedBatch({ seed: window, window, lengths: [20, 31, 9, 17, 24, 12], vocabulary: tiny.vocabSize });
const open = (options: Partial<TrainerOptions> = {}, restored?: RestoredTrainer, base = frozen()) =>
  Trainer.open(adapted, adapter(), { ...trainerOptions, ...options }, restored, baseOf(adapted, base));
const bits = ({ networks: { actor, critic } }: Trainer): readonly string[] =>
  [actor, critic].flatMap((network) =>
    network === undefined
      ? []
      : [network.parameters.flat, network.moments.first, network.moments.second].map((array) =>
          Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64"),
        ),
  );
const withCritic: Partial<TrainerOptions> = { algorithm: { ...trainerOptions.algorithm, adv_estimator: "gae" } };
const withKl = (ref_update_freq = 0): Partial<TrainerOptions> => ({
  actor: { ...trainerOptions.actor, use_kl_loss: true, ref_update_freq },
});

describe("training an adapter", () => {
  it("changes the adapter and leaves the weights beside it as they are", async () => {
    const base = frozen();
    const before = base.flat.slice();
    await using trainer = await open({}, undefined, base);
    expect(trainer.networks.actor.parameters.specs).toEqual(trainedParameters(adapted));
    const report = await trainer.update(batchOf(0));
    expect(report).toMatchObject({ applied: true, version: 1 });
    expect(trainer.networks.actor.parameters.flat).not.toEqual(adapter().flat);
    expect(base.flat).toEqual(new Float32Array(before));
  });

  it("has a critic of its own adapter and head over the same weights, of fewer layers too", async () => {
    for (const layers of [0, 1]) {
      await using trainer = await open({ ...withCritic, critic: { ...trainerOptions.critic, layers } });
      const valued = { ...adapted, layers: layers === 0 ? adapted.layers : layers };
      expect(trainer.networks.critic?.parameters.specs).toEqual(trainedCriticParameters(valued));
      expect(await trainer.values(batchOf(0))).toEqual(new Float32Array(113));
      await trainer.update(batchOf(0));
      expect((await trainer.values(batchOf(0))).some((value) => value !== 0)).toBe(true);
    }
  });

  it("is scored once, without a trainer, as its trainer scores it", async () => {
    const base = frozen();
    await using trainer = await open({}, undefined, base);
    const { actor } = trainerOptions;
    const checkpoint = { config: adapted, parameters: base, adapter: { base: "", parameters: adapter() } };
    const run = { actor, model: { learner_intra_op: 1 } };
    expect(await scoreOnce(checkpoint, batchOf(0), run)).toEqual(await trainer.logp(batchOf(0)));
  });

  it("takes the model without the adapter as the reference, which costs no weights", async () => {
    await using plain = await Trainer.open(sizes, frozen(), trainerOptions);
    await using trainer = await open(withKl());
    const off = await plain.logp(batchOf(0));
    expect(await trainer.logp(batchOf(0))).toEqual(off);
    const batch = { ...batchOf(0), mu: off };
    expect(valueIn((await trainer.update(batch)).metrics, learner.klLoss)).toBeCloseTo(0, 3);
    await trainer.update(batchOf(1));
    const { metrics } = await trainer.update(batchOf(2));
    expect(valueIn(metrics, learner.klLoss)).toBeGreaterThan(0);
    expect(trainer.networks.reference).toBeUndefined();
  });

  it("renews the reference by a copy of the adapter", async () => {
    await using trainer = await open(withKl(1));
    expect(trainer.networks.reference?.flat.every((value) => value === 0)).toBe(true);
    await trainer.update(batchOf(0));
    expect(trainer.networks.reference?.flat).toEqual(trainer.networks.actor.parameters.flat);
  });

  it("gives the same bits whatever the number of lanes", async () => {
    await using one = await open(withCritic);
    await using two = await open({ ...withCritic, lanes: 2 });
    await one.update(batchOf(0));
    await two.update(batchOf(0));
    expect(bits(two)).toEqual(bits(one));
  });

  it.live("goes on from a PEFT folder with the learner's state, to the bits of one that never stopped", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        const options = { ...withCritic, ...withKl(1) };
        const model = {
          config: adapted,
          tokens: { bos: undefined, eos: [0], pad: undefined },
          adapter: { parameters: adapter(), base: "models/base" },
          tokenizer: { tokenizerJson: {}, tokenizerConfig: {} },
        };
        const whole = yield* Effect.promise(async () => {
          await using trainer = await open(options);
          await trainer.update(batchOf(0));
          await Effect.runPromise(
            saveTrainer(folder, model, trainer.state, trainer.networks.actor, trainer.networks.critic, {
              reference: trainer.networks.reference,
            }),
          );
          await trainer.update(batchOf(1));
          return bits(trainer);
        });
        const names = yield* Effect.promise(() => readdir(folder));
        expect(names).toEqual(expect.arrayContaining(["adapter_config.json", "adapter_model.safetensors"]));
        expect(names).not.toContain("model.safetensors");
        const restored = yield* restoreTrainer(folder, adapted);
        const halved = yield* Effect.promise(async () => {
          await using trainer = await open(options, restored);
          await trainer.update(batchOf(1));
          return bits(trainer);
        });
        expect(halved).toEqual(whole);
      }),
    ),
  );
});
