/** The generator that a run file asks for. */
import { generatorDevice } from "../../config/devices.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { Version } from "../../domain/Episode.ts";
import type { Model } from "../Model.ts";
import * as Generator from "./Generator.ts";

/** Generator threads that start from `model`'s weights as `version`. */
export const generator = (config: RunConfig, model: Model, version: Version) =>
  Generator.make({
    config: model.checkpoint.config,
    device: generatorDevice(config.model),
    version,
    parameters: model.checkpoint.parameters.flat,
    threads: config.model.generator_threads,
    runtime: config.model.runtime,
    generation: config.generation,
    stopIds: model.stopIds,
    bytesOf: model.tokenizer.bytesOf,
  });
