/**
 * The language model as three onnxruntime sessions over one set of weights (Decode.ts): weights are inputs, so adopting a version
 * is a change of views. Invariant: each session has one intra-op thread, without which a row's bits would depend on its batch.
 */
import type { Version } from "../../domain/Episode.ts";
import { parameters, type Qwen2Config } from "../model/Architecture.ts";
import { extendModel, newKeys, newValues, pastKeys, pastValues, prefillModel, stepModel } from "../model/Decode.ts";
import { parametersOf } from "../model/Parameters.ts";
import { type Feeds, float32, type HostTensor, int64, type Outputs, Session } from "../runtime/Session.ts";
import type { CacheView } from "./Cache.ts";
import type { Extended, LanguageModel } from "./LanguageModel.ts";

/** One version's parameters as graph inputs. */
export interface OnnxWeights {
  readonly version: Version;
  readonly feeds: Feeds;
}

/** Opens the sessions. Rejects where the runtime refuses a graph. */
export const open = async (config: Qwen2Config): Promise<LanguageModel<OnnxWeights>> => {
  const specs = parameters(config);
  const layers = Array.from({ length: config.layers }, (_, layer) => layer);
  const names = layers.map((layer) => ({
    pastKeys: pastKeys(layer),
    pastValues: pastValues(layer),
    newKeys: newKeys(layer),
    newValues: newValues(layer),
  }));
  const prefill = await Session.open(prefillModel(config));
  const extend = await Session.open(extendModel(config));
  const step = await Session.open(stepModel(config));

  const pastFeeds = (past: CacheView): Record<string, HostTensor> => {
    const dims = [past.rows, config.kvHeads, past.capacity, config.headDim];
    const feeds: Record<string, HostTensor> = {};
    for (const layer of layers) {
      feeds[names[layer]!.pastKeys] = float32(past.keys[layer]!, dims);
      feeds[names[layer]!.pastValues] = float32(past.values[layer]!, dims);
    }
    return feeds;
  };
  const extended = (outputs: Outputs): Extended => ({
    logits: outputs.float32("logits"),
    keys: names.map((name) => outputs.float32(name.newKeys)),
    values: names.map((name) => outputs.float32(name.newValues)),
  });

  return {
    shape: {
      layers: config.layers,
      kvHeads: config.kvHeads,
      headDim: config.headDim,
      vocabSize: config.vocabSize,
      maxPositions: config.maxPositions,
    },
    weights: (version, buffer) => {
      const { tensors } = parametersOf(specs, new Float32Array(buffer));
      return {
        version,
        feeds: Object.fromEntries(specs.map(({ name, shape }, i) => [name, float32(tensors[i]!, shape)])),
      };
    },
    prefill: async ({ feeds }, { ids, lengths, time }) =>
      extended(
        await prefill.run({
          ...feeds,
          ids: int64(ids, [lengths.length, time]),
          lengths: int64(lengths, [lengths.length]),
        }),
      ),
    extend: async ({ feeds }, { ids, lengths, time }, past, pastLengths) =>
      extended(
        await extend.run({
          ...feeds,
          ...pastFeeds(past),
          ids: int64(ids, [lengths.length, time]),
          lengths: int64(lengths, [lengths.length]),
          pastLengths: int64(pastLengths, [lengths.length]),
        }),
      ),
    step: async ({ feeds }, ids, past, pastLengths) =>
      extended(
        await step.run({
          ...feeds,
          ...pastFeeds(past),
          ids: int64(ids, [ids.length]),
          pastLengths: int64(pastLengths, [ids.length]),
        }),
      ),
    close: async () => {
      await prefill.close();
      await extend.close();
      await step.close();
    },
  };
};
