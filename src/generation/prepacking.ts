/** The rule for prepacked weights: whether the runtime packs a model's matrices once a version, or in every decode step. */
import { generatorDevice } from "../config/devices.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { type DecoderConfig, parameterCount } from "../model/graphs/Architecture.ts";
import { frozenParameters, trainedParameters } from "../model/graphs/TrainedParameters.ts";

/**
 * Parameters from which packing is worth its time and memory while training. Smaller matrices stay in the processor's caches, and a version
 * of them is adopted within a step. The limit is a judgement: of large models only one of 135 M parameters was measured (docs/devices.md).
 */
const LARGE = 20_000_000;

/** The weights change while the generator runs, as in training, or are fixed, as in an evaluation. */
export type WeightsUse = "changing" | "fixed";

/**
 * Returns true if a run file's generator prepacks weights. Only onnxruntime on the CPU does. Fixed weights are packed once, so `auto` packs
 * them whatever their size.
 */
export const prepacksWeights = (model: RunConfig["model"], decoder: DecoderConfig, use: WeightsUse): boolean => {
  if (model.runtime !== "onnx" || generatorDevice(model).kind !== "cpu") return false;
  if (model.generator_prepack !== "auto") return model.generator_prepack === "always";
  return use === "fixed" || parameterCount([...frozenParameters(decoder), ...trainedParameters(decoder)]) >= LARGE;
};
