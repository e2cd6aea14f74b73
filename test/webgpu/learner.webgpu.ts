/** The learner on WebGPU takes the steps that it takes on the CPU, and parameters, moments and gradients stay on the device. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { cpu, type Device } from "../../src/domain/Device.ts";
import { stream } from "../../src/domain/Random.ts";
import { Trainer } from "../../src/learner/Trainer.ts";
import { type DecoderConfig, parameters } from "../../src/model/graphs/Architecture.ts";
import { initialise } from "../../src/model/graphs/Parameters.ts";
import { type Session, transfers } from "../../src/model/runtime/Session.ts";
import { creditedBatch } from "../build/batches.ts";
import { tiny, trainerOptions } from "../learner/model.ts";
import { heldDevice, webgpu } from "./compared.ts";

let deviceSession: Session | undefined;
beforeAll(async () => {
  deviceSession = await heldDevice();
});
afterAll(() => deviceSession?.close());

const batch = creditedBatch({ seed: 5, lengths: [9, 7, 12, 5, 9, 11, 6, 8], vocabulary: tiny.vocabSize });

const parametersFor = (config: DecoderConfig) =>
  initialise(parameters(config), stream({ seed: 7, purpose: "initialisation", counters: [] }), 0.2);

/** One update of actor and critic; some mini-batches have several micro-batches. */
const updated = async (device: Device, config: DecoderConfig = tiny, use_kl_loss = false) => {
  await using trainer = await Trainer.open(config, parametersFor(config), {
    ...trainerOptions,
    device,
    actor: { ...trainerOptions.actor, micro_batch_tokens: 24, use_kl_loss },
  });
  const before = transfers();
  const { applied } = await trainer.update(batch);
  const after = transfers();
  await trainer.networks.synchronise();
  const { actor, critic } = trainer.networks;
  return {
    applied,
    moved: { up: after.uploaded - before.uploaded, down: after.downloaded - before.downloaded },
    numbers: [actor.parameters.flat, actor.moments.first, critic!.parameters.flat, critic!.moments.second].map((each) =>
      each.slice(),
    ),
    steps: [actor.moments.steps, critic!.moments.steps],
  };
};

it("gives the CPU's parameters and moments, and moves the policy's parameters once", async () => {
  const expected = await updated(cpu);
  const actual = await updated(webgpu);
  expect(actual.applied).toBe(true);
  expect(actual.steps).toEqual(expected.steps);
  for (const [i, numbers] of expected.numbers.entries()) {
    const largest = numbers.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const off = numbers.reduce((most, value, at) => Math.max(most, Math.abs(value - actual.numbers[i]![at]!)), 0);
    expect(off / largest).toBeLessThan(1e-3);
  }
  // Down: the policy once, for the generators, and little else.
  const policy = expected.numbers[0]!.byteLength;
  expect(actual.moved.down).toBeGreaterThanOrEqual(policy);
  expect(actual.moved.down).toBeLessThan(1.5 * policy);
  // Up: the batches alone, whatever the size of the model.
  const wider = await updated(webgpu, { ...tiny, intermediateSize: 4 * tiny.intermediateSize });
  expect(wider.numbers[0]!.length).toBeGreaterThan(expected.numbers[0]!.length);
  expect(wider.moved.up).toBe(actual.moved.up);
});

it("keeps the reference policy of a KL loss on the device", async () => {
  const { moved } = await updated(webgpu, tiny, true);
  const wider = await updated(webgpu, { ...tiny, intermediateSize: 4 * tiny.intermediateSize }, true);
  expect(wider.moved.up).toBe(moved.up);
});
