/**
 * A learner of an adapter on WebGPU: it takes the steps that it takes on the CPU, with its critic and its reference, and what it moves is the
 * adapter's, whatever the size of the base.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { cpu, type Device } from "../../src/domain/Device.ts";
import { learner } from "../../src/domain/metrics/learner.ts";
import { valueIn } from "../../src/domain/metrics/Metrics.ts";
import { Trainer } from "../../src/learner/Trainer.ts";
import { type DecoderConfig, parameterCount } from "../../src/model/graphs/Architecture.ts";
import { trainedParameters } from "../../src/model/graphs/TrainedParameters.ts";
import { baseOf } from "../../src/model/runtime/baseFeeds.ts";
import { type Session, transfers } from "../../src/model/runtime/Session.ts";
import { creditedBatch } from "../build/batches.ts";
import { frozen, adapted as ofTwoLayers } from "../learner/adapted.ts";
import { trainerOptions } from "../learner/model.ts";
import { randomWeights } from "../model/tiny.ts";
import { heldDevice, webgpu } from "./compared.ts";

let deviceSession: Session | undefined;
beforeAll(async () => {
  deviceSession = await heldDevice();
});
afterAll(() => deviceSession?.close());

const adapted: DecoderConfig = { ...ofTwoLayers, layers: 1 };

const batchOf = (window: number) =>
  creditedBatch({ seed: 5 + window, window, lengths: [9, 7, 12, 5, 9, 11, 6, 8], vocabulary: adapted.vocabSize });

/** An adapter that is far from adding nothing, so that the reference is another policy from the beginning. */
const start = (config: DecoderConfig) => randomWeights(trainedParameters(config), 5);

const opened = (device: Device, config: DecoderConfig, ref_update_freq: number) =>
  Trainer.open(
    config,
    start(config),
    {
      ...trainerOptions,
      device,
      actor: { ...trainerOptions.actor, micro_batch_tokens: 24, use_kl_loss: true, ref_update_freq },
    },
    undefined,
    baseOf(config, frozen(config)),
  );

/** Two updates of actor and critic, with a divergence from a reference; some mini-batches have several micro-batches. */
const updated = async (device: Device, config: DecoderConfig = adapted, ref_update_freq = 0) => {
  await using trainer = await opened(device, config, ref_update_freq);
  await trainer.update(batchOf(0));
  const before = transfers();
  const { applied, metrics } = await trainer.update(batchOf(1));
  const after = transfers();
  await trainer.networks.synchronise();
  const { actor, critic } = trainer.networks;
  return {
    applied,
    kl: valueIn(metrics, learner.klLoss) ?? Number.NaN,
    moved: { up: after.uploaded - before.uploaded, down: after.downloaded - before.downloaded },
    numbers: [actor.parameters.flat, actor.moments.first, critic!.parameters.flat, critic!.moments.second].map((each) =>
      each.slice(),
    ),
    steps: [actor.moments.steps, critic!.moments.steps],
  };
};

/** Updates of the adapter on the device, by the reference's renewal: each runs once for all tests. */
const onDevice = new Map<number, ReturnType<typeof updated>>();
const updatedOnDevice = (renewed: number) => {
  const updating = onDevice.get(renewed) ?? updated(webgpu, adapted, renewed);
  onDevice.set(renewed, updating);
  return updating;
};

const largestOf = (numbers: Float32Array): number =>
  numbers.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

it.each([
  ["the model without the adapter", 0],
  ["a copy of the adapter that is renewed", 1],
])("gives the CPU's adapter, critic and moments, with %s as the reference", async (_, renewed) => {
  const expected = await updated(cpu, adapted, renewed);
  const actual = await updatedOnDevice(renewed);
  expect(actual.applied).toBe(true);
  expect(actual.steps).toEqual(expected.steps);
  expect(expected.kl).toBeGreaterThan(0);
  expect(Math.abs(actual.kl / expected.kl - 1)).toBeLessThan(renewed === 0 ? 1e-3 : 0.1);
  for (const [i, numbers] of expected.numbers.entries()) {
    const off = largestOf(numbers.map((value, at) => value - actual.numbers[i]![at]!));
    expect(off / largestOf(numbers)).toBeLessThan(1e-3);
  }
});

it("has another policy than the adapter's as the reference that is not renewed", async () => {
  const [fixed, renewed] = [await updatedOnDevice(0), await updatedOnDevice(1)];
  expect(fixed.kl).toBeGreaterThan(10 * renewed.kl);
});

it("uploads a renewed reference once a renewal", async () => {
  const { moved } = await updatedOnDevice(0);
  const renewed = await updatedOnDevice(1);
  expect(renewed.moved.up - moved.up).toBe(start(adapted).flat.byteLength);
});

it("moves the adapter down once an update and nothing of the base, either way", async () => {
  const config: DecoderConfig = { ...adapted, adapter: { rank: 2, alpha: 4, targets: ["q_proj", "v_proj"] } };
  const { moved } = await updated(webgpu, config);
  const wider = await updated(webgpu, { ...config, intermediateSize: 4 * config.intermediateSize });
  expect(wider.moved).toEqual(moved);
  const ranked: DecoderConfig = { ...config, adapter: { rank: 5, alpha: 4, targets: ["q_proj", "v_proj"] } };
  const bytes = (decoder: DecoderConfig) => 4 * parameterCount(trainedParameters(decoder));
  const more = await updated(webgpu, ranked);
  expect(more.moved).toEqual({ up: moved.up, down: moved.down + bytes(ranked) - bytes(config) });
});
