/** The generator that a run file asks for. */
import { generatorDevice } from "../config/devices.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import type { Version } from "../domain/Episode.ts";
import type { Model } from "../model/Model.ts";
import { baseIn, baseOf } from "../model/runtime/baseFeeds.ts";
import * as Generator from "./Generator.ts";

/** Generator threads that start from `model`'s weights as `version`. */
export const generator = (config: RunConfig, model: Model, version: Version) => {
  const { adapter, config: decoder, parameters } = model.checkpoint;
  const format = config.model.generator_dtype;
  const base = baseOf(decoder, parameters);
  return Generator.make({
    config: decoder,
    device: generatorDevice(config.model),
    version,
    parameters: (adapter?.parameters ?? parameters).flat,
    base: base && baseIn(format, decoder, base),
    format,
    threads: config.model.generator_threads,
    runtime: config.model.runtime,
    generation: config.generation,
    // In async mode bits depend on when weights arrive anyhow.
    refills: config.pipeline.mode === "async" ? "fast" : "exact",
    stopIds: model.stopIds,
    bytesOf: model.tokenizer.bytesOf,
  });
};
