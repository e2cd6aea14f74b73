/** Generation on WebGPU: what is sampled is what full scoring says, and of a step only ids and what was drawn move. */
import { expect, it } from "vitest";
import { GeneratorLoop } from "../../src/generation/GeneratorLoop.ts";
import { toBucket } from "../../src/generation/KeyValueCache.ts";
import { openResident } from "../../src/generation/ResidentModel.ts";
import type { DecoderConfig } from "../../src/model/graphs/Architecture.ts";
import { ADAPTER_SCALE } from "../../src/model/graphs/Lora.ts";
import { scoreModel } from "../../src/model/graphs/Score.ts";
import { trainedParameters } from "../../src/model/graphs/TrainedParameters.ts";
import { baseOf } from "../../src/model/runtime/baseFeeds.ts";
import { transfers } from "../../src/model/runtime/Session.ts";
import type { Payload } from "../../src/model/weights/Weights.ts";
import { concat, idsOf, loopOn, loopOptions, reply, requestOf, score, tiny, weightsOf } from "../generation/support.ts";
import { shared } from "../learner/adapted.ts";
import { int64, runOnce, scalar } from "../model/tensor/session.ts";
import { everyTarget, randomWeights, weightFeeds } from "../model/tiny.ts";
import { webgpu } from "./compared.ts";

const ROWS = 8;
/** Bytes of a row in a decode step: id and past as int64 and three numbers of its draw go up; four numbers of the drawn token come down. */
const [UP, DOWN] = [8 + 8 + 12, 16];

it("keeps weights, caches and logits on the device", async () => {
  const loop = loopOn(await openResident(tiny, webgpu), { slots: ROWS });
  try {
    const first = idsOf(9, 1);
    const opened = await reply(loop, requestOf(1, first, { maxTokens: 6 }));
    const begun = transfers();
    expect(begun.uploaded).toBeGreaterThan(weightsOf(0).flat.byteLength);
    const steps = loop.gauges().decodeSteps;
    const second = idsOf(1, 2);
    const more = await reply(loop, requestOf(1, second, { maxTokens: 24 }));
    const moved = transfers();
    const decoded = loop.gauges().decodeSteps - steps;
    expect(decoded).toBeGreaterThan(20);
    // besides the decode steps: one feed of up to 16 ids for one row, and one arrangement to a second bucket of positions
    const once = 4096;
    expect(moved.uploaded - begun.uploaded).toBeLessThanOrEqual(decoded * ROWS * UP + once);
    expect(moved.downloaded - begun.downloaded).toBeLessThanOrEqual(decoded * ROWS * DOWN + once);

    const history = concat(first, opened.ids, second, more.ids);
    const logp = await score(history, 0);
    const replied = history.length - more.ids.length;
    for (const [t, mu] of more.mu.entries()) expect(Math.abs(mu - logp[replied - 1 + t]!)).toBeLessThan(1e-3);
  } finally {
    await loop.close();
  }
});

const adapted: DecoderConfig = { ...tiny, adapter: { rank: 3, alpha: 6, targets: ["q_proj", "o_proj", "up_proj"] } };
const adapterOf = (version: number) => randomWeights(trainedParameters(adapted), 30 + version);
const payloadOf = (version: number): Payload => ({ _tag: "adapter", buffer: adapterOf(version).flat.buffer });

/** Log-probabilities of ids after the first under the adapter of `version`, on the CPU. */
const scored = async (ids: Int32Array, version: number): Promise<Float32Array> => {
  const { logp } = await runOnce(scoreModel(adapted), {
    ...weightFeeds(weightsOf(0)),
    ...weightFeeds(adapterOf(version)),
    [ADAPTER_SCALE]: scalar(2),
    ids: int64([1, ids.length], ids),
    before: everyTarget(1, ids.length),
    temperature: scalar(1),
  });
  if (logp === undefined) throw new Error("the model has no log-probabilities");
  return logp;
};

it("uploads what an adapter stands beside once, and with a version the adapter alone", async () => {
  const before = transfers();
  const base = shared(weightsOf(0));
  const model = await openResident(adapted, webgpu, baseOf(adapted, base));
  const loop = new GeneratorLoop(model, { version: 0, payload: payloadOf(0) }, { ...loopOptions, slots: ROWS });
  try {
    const start = transfers();
    const { headDim, kvHeads, layers } = adapted;
    // keys and values of one row and the fewest positions, of sequences and of shared prefixes
    const caches = 2 * 2 * layers * kvHeads * toBucket(1) * headDim * 4;
    expect(start.uploaded - before.uploaded).toBe(base.flat.byteLength + caches);
    const first = idsOf(9, 1);
    const opened = await reply(loop, requestOf(1, first, { maxTokens: 4 }));
    const begun = transfers();
    const steps = loop.gauges().decodeSteps;
    loop.offer(1, payloadOf(1));
    const second = idsOf(1, 2);
    const more = await reply(loop, requestOf(1, second, { maxTokens: 6 }));
    expect([...new Set(more.versions)]).toEqual([1]);
    const uploaded = transfers().uploaded - begun.uploaded;
    const adapter = adapterOf(1).flat.byteLength;
    const decoded = loop.gauges().decodeSteps - steps;
    expect(uploaded).toBeGreaterThanOrEqual(adapter);
    // besides the adapter: the steps, and one feed
    expect(uploaded).toBeLessThanOrEqual(adapter + decoded * ROWS * UP + 4096);
    expect(uploaded).toBeLessThan(base.flat.byteLength / 2);

    const history = concat(first, opened.ids);
    const logp = await scored(history, 0);
    for (const [t, mu] of opened.mu.entries()) expect(Math.abs(mu - logp[first.length - 1 + t]!)).toBeLessThan(1e-3);
  } finally {
    await loop.close();
  }
});
