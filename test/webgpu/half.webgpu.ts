/**
 * Generation in float16 on an adapter that has it (SwiftShader has not; Mesa's lavapipe from version 25 on has): what is said of a sampled token is what
 * full scoring in float32 says, up to rounding, and matrices and caches are float16 on the device.
 */
import { expect, it } from "vitest";
import { GeneratorLoop } from "../../src/generation/GeneratorLoop.ts";
import { openResident } from "../../src/generation/ResidentModel.ts";
import { type DecoderConfig, parameterCount } from "../../src/model/graphs/Architecture.ts";
import { decodeModel, feedModel, inFloat16 } from "../../src/model/graphs/DeviceDecode.ts";
import { trainedParameters } from "../../src/model/graphs/TrainedParameters.ts";
import { baseOf } from "../../src/model/runtime/baseFeeds.ts";
import { DeviceBase } from "../../src/model/runtime/DeviceBase.ts";
import { hasFloat16 } from "../../src/model/runtime/deviceProbe.ts";
import { Session, transfers } from "../../src/model/runtime/Session.ts";
import { fullPayload } from "../../src/model/weights/Weights.ts";
import { concat, idsOf, loopOn, loopOptions, reply, requestOf, score, tiny, weightsOf } from "../generation/support.ts";
import { shared } from "../learner/adapted.ts";
import { withFloats } from "../model/tensor/withFloats.ts";
import { decoders } from "../model/tiny.ts";
import { differences, feedsOf, webgpu } from "./compared.ts";

const half = await hasFloat16(webgpu);

/** The largest distance of what was said of a reply's tokens from the log-probabilities of a version, over two turns and a new version between. */
const apart = async (format: "float32" | "float16"): Promise<number> => {
  const loop = loopOn(await openResident(tiny, webgpu, undefined, format), { slots: 8 });
  try {
    const first = idsOf(9, 1);
    const opened = await reply(loop, requestOf(1, first, { maxTokens: 24 }));
    loop.offer(1, fullPayload(weightsOf(1).flat));
    const other = idsOf(40, 2);
    const second = await reply(loop, requestOf(2, other, { maxTokens: 12 }));
    expect([...new Set(second.versions)]).toEqual([1]);
    let worst = 0;
    for (const [prompt, sampled, version] of [
      [first, opened, 0],
      [other, second, 1],
    ] as const) {
      const logp = await score(concat(prompt, sampled.ids), version);
      for (const [t, mu] of sampled.mu.entries()) {
        const off = Math.abs(mu - logp[prompt.length - 1 + t]!);
        if (!(off <= worst)) worst = off;
      }
    }
    return worst;
  } finally {
    await loop.close();
  }
};

it.skipIf(!half).each(decoders)("%s has the logits of float32, up to rounding", async (_, config) => {
  for (const model of [decodeModel, feedModel]) {
    const feeds = feedsOf(model(config), config.vocabSize);
    await using whole = await Session.open(model(config));
    await using halved = await Session.open(withFloats(inFloat16(config, model(config))), { device: webgpu });
    using expected = await whole.run(feeds);
    using actual = await halved.run(feeds);
    const { drawn: _drawn, ...apart } = differences(expected, actual);
    for (const [name, difference] of Object.entries(apart)) expect(difference, name).toBeLessThan(2e-2);
  }
});

it.skipIf(!half)("samples by weights and caches that are rounded", async () => {
  expect(await apart("float32")).toBeLessThan(1e-3);
  const off = await apart("float16");
  expect(off).toBeLessThan(0.1);
  // else nothing was rounded
  expect(off).toBeGreaterThan(1e-3);
});

it.skipIf(!half)("moves what float32 moves in a decode step, and no cache", async () => {
  const loop = loopOn(await openResident(tiny, webgpu, undefined, "float16"), { slots: 8 });
  try {
    await reply(loop, requestOf(1, idsOf(9, 1), { maxTokens: 4 }));
    const begun = transfers();
    const steps = loop.gauges().decodeSteps;
    await reply(loop, requestOf(1, idsOf(1, 2), { maxTokens: 12 }));
    const moved = transfers();
    const decoded = loop.gauges().decodeSteps - steps;
    expect(moved.uploaded - begun.uploaded).toBeLessThanOrEqual(decoded * 8 * 28 + 4096);
    expect(moved.downloaded - begun.downloaded).toBeLessThanOrEqual(decoded * 8 * 16 + 4096);
  } finally {
    await loop.close();
  }
});

const adapted: DecoderConfig = { ...tiny, adapter: { rank: 3, alpha: 6, targets: ["q_proj", "o_proj"] } };

it.skipIf(!half)("holds a base in float16 beside an adapter in float32, and samples with it", async () => {
  const base = baseOf(adapted, shared(weightsOf(0)))!;
  const matrices = (spec: { readonly shape: readonly number[] }) => (spec.shape.length === 2 ? "float16" : "float32");
  const deviceBase = await DeviceBase.open(base, webgpu, matrices);
  const types = base.frozen.specs.map(({ name, shape }) => [deviceBase.feeds[name]?.type, shape.length]);
  expect(types.every(([type, rank]) => type === (rank === 2 ? "float16" : "float32"))).toBe(true);
  await deviceBase.close();
  const model = await openResident(adapted, webgpu, base, "float16");
  // An adapter of zeros adds nothing: the base is what is sampled from.
  const { buffer } = new Float32Array(parameterCount(trainedParameters(adapted)));
  const loop = new GeneratorLoop(model, { version: 0, payload: { _tag: "adapter", buffer } }, loopOptions);
  try {
    const prompt = idsOf(9, 1);
    const { ids, mu } = await reply(loop, requestOf(1, prompt, { maxTokens: 8 }));
    const logp = await score(concat(prompt, ids), 0);
    for (const [t, said] of mu.entries()) expect(Math.abs(said - logp[prompt.length - 1 + t]!)).toBeLessThan(0.1);
  } finally {
    await loop.close();
  }
});
