import { describe, expect, it } from "vitest";
import type { RunConfig } from "../../src/config/RunConfig.ts";
import { cpu } from "../../src/domain/Device.ts";
import { KeyValueCache } from "../../src/generation/KeyValueCache.ts";
import type { LanguageModel } from "../../src/generation/LanguageModel.ts";
import { type OnnxWeights, open } from "../../src/generation/OnnxModel.ts";
import { prepacksWeights } from "../../src/generation/prepacking.ts";
import { WeightSessions } from "../../src/generation/WeightSessions.ts";
import { stepModel } from "../../src/model/graphs/Decode.ts";
import { viewFeeds } from "../../src/model/runtime/baseFeeds.ts";
import { liveSessions, Session } from "../../src/model/runtime/Session.ts";
import { withConstants } from "../../src/model/tensor/Onnx.ts";
import { fullPayload } from "../../src/model/weights/Weights.ts";
import { configWith } from "../build/config.ts";
import { idsOf, loopOn, reply, requestOf, score, tiny, weightsOf } from "./support.ts";

const options = { device: cpu, threads: 1 };

/** Logits of a step of some rows behind empty caches. */
const step = async (model: LanguageModel<OnnxWeights>, weights: OnnxWeights, rows: number): Promise<Float32Array> => {
  const cache = new KeyValueCache(model.shape);
  cache.reserve(rows, 64);
  const ids = BigInt64Array.from({ length: rows }, (_, row) => BigInt(row + 1));
  return (await model.step(weights, ids, cache.view(0, rows), new BigInt64Array(rows))).logits;
};

const withPrepacked = async (use: (model: LanguageModel<OnnxWeights>) => Promise<void>): Promise<void> => {
  const model = await open(tiny, { prepacks: true });
  try {
    await use(model);
  } finally {
    await model.close();
  }
};

const versionOf = (model: LanguageModel<OnnxWeights>, version: number): OnnxWeights =>
  model.weights(version, fullPayload(weightsOf(version).flat));

describe("prepacked weights", () => {
  it("give the logits of weights that are inputs, but for rounding", () =>
    withPrepacked(async (prepacked) => {
      const inputs = await open(tiny);
      const [a, b] = [await step(prepacked, versionOf(prepacked, 0), 3), await step(inputs, versionOf(inputs, 0), 3)];
      await inputs.close();
      expect(Math.max(...a.map((logit, i) => Math.abs(logit - b[i]!)))).toBeLessThan(1e-4);
      expect(Math.max(...a)).toBeGreaterThan(0.1);
    }));

  it("give a single row the bits that it has among others", () =>
    withPrepacked(async (model) => {
      const weights = versionOf(model, 0);
      const [one, five] = [await step(model, weights, 1), await step(model, weights, 5)];
      expect(one).toEqual(five.slice(0, tiny.vocabSize));
      expect(model.leastStepRows).toBe(1);
    }));

  it("have a session for each version that took a step, closed when the version is forgotten", () =>
    withPrepacked(async (model) => {
      const before = liveSessions();
      const [first, second] = [versionOf(model, 0), versionOf(model, 1)];
      await step(model, first, 1);
      await step(model, first, 2);
      expect(liveSessions()).toBe(before + 1);
      expect(await step(model, second, 1)).not.toEqual(await step(model, first, 1));
      expect(liveSessions()).toBe(before + 2);
      await model.forget?.(first);
      await new Promise((resolve) => setImmediate(resolve));
      expect(liveSessions()).toBe(before + 1);
    }));

  it("are left out of a version's inputs once, when both of its sessions are open", () =>
    withPrepacked(async (model) => {
      const weights = versionOf(model, 0);
      const all = weights.feeds;
      await step(model, weights, 2);
      expect(weights.feeds).toBe(all);
      await model.prefill(weights, { ids: BigInt64Array.of(1n, 2n), lengths: BigInt64Array.of(2n), time: 2 });
      const left = weights.feeds;
      expect(left).toEqual({});
      await step(model, weights, 2);
      expect(weights.feeds).toBe(left);
    }));

  it("have their session at once where it stands, and until the version is forgotten", async () => {
    const weights = { feeds: viewFeeds(weightsOf(0)) };
    const shared = await WeightSessions.open(stepModel(tiny), { frozen: undefined, isPrepacked: undefined }, options);
    expect(shared.session(weights)).toBeInstanceOf(Session);
    const single = await WeightSessions.open(stepModel(tiny), { frozen: undefined, isPrepacked: () => true }, options);
    const first = await single.session(weights);
    expect(single.session(weights)).toBe(first);
    await single.forget(weights);
    expect(single.session(weights)).toBeInstanceOf(Promise);
    await Promise.all([shared.close(), single.close()]);
  });

  it("sample what the learner's scoring gives, before and after a new version", () =>
    withPrepacked(async (model) => {
      const loop = loopOn(model);
      const prompt = idsOf(20);
      for (const version of [0, 1]) {
        loop.offer(version, fullPayload(weightsOf(version).flat));
        const { ids, mu } = await reply(loop, requestOf(version, prompt));
        const logp = await score(Int32Array.from([...prompt, ...ids]), version);
        expect(Math.max(...mu.map((value, i) => Math.abs(value - logp[19 + i]!)))).toBeLessThan(1e-4);
      }
      await loop.whenIdle();
    }));

  it("can only stand for inputs of the model", () => {
    const constant = { name: "other", dtype: "float32", dims: [1], bytes: new Uint8Array(4) } as const;
    expect(() => withConstants(stepModel(tiny), [constant])).toThrow('the model has no input "other"');
  });
});

describe("the rule for prepacking", () => {
  const model = (changes: Partial<RunConfig["model"]>): RunConfig["model"] => configWith({ model: changes }).model;
  const large = { ...tiny, hiddenSize: 576, intermediateSize: 1536, layers: 30, vocabSize: 49_152 };

  it("packs large models on the CPU", () => {
    expect(prepacksWeights(model({}), large, "changing")).toBe(true);
    expect(prepacksWeights(model({}), tiny, "changing")).toBe(false);
  });

  it("packs weights of every size where they do not change", () => {
    expect(prepacksWeights(model({}), tiny, "fixed")).toBe(true);
  });

  it("follows the run file", () => {
    expect(prepacksWeights(model({ generator_prepack: "never" }), tiny, "fixed")).toBe(false);
    expect(prepacksWeights(model({ generator_prepack: "never" }), large, "changing")).toBe(false);
    expect(prepacksWeights(model({ generator_prepack: "always" }), tiny, "changing")).toBe(true);
  });

  it("packs nothing on a device, or with another runtime", () => {
    expect(prepacksWeights(model({ device: "webgpu" }), large, "changing")).toBe(false);
    expect(prepacksWeights(model({ runtime: "tfjs" }), large, "changing")).toBe(false);
    expect(prepacksWeights(model({ runtime: "tfjs" }), large, "fixed")).toBe(false);
  });
});
