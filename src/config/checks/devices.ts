/** Checks of devices: the combinations of runtime, device and number format that cannot run. */
import { format } from "../../domain/Device.ts";
import { generatorDevice, learnerDevice } from "../devices.ts";
import { type Check, problemIf } from "./Check.ts";
import { isGeneratorRemote } from "./generator.ts";

export const devices: Check = ({ model }) => {
  const [generator, learner] = [generatorDevice(model), learnerDevice(model)];
  const { generator_dtype: dtype } = model;
  const both = generator.kind === "webgpu" && learner.kind === "webgpu";
  return [
    ...problemIf(
      model.runtime !== "onnx" && (generator.kind !== "cpu" || learner.kind !== "cpu"),
      () =>
        `model.device: ${format(generator.kind === "cpu" ? learner : generator)}: model.runtime=${model.runtime} chooses its device itself; nearest: cpu`,
    ),
    ...problemIf(
      (model.lora.rank > 0 || model.adapter !== "") && (generator.kind === "cuda" || learner.kind === "cuda"),
      () =>
        `model.device: ${format(generator.kind === "cuda" ? generator : learner)}: an adapter (model.lora, model.adapter) is trained and played on cpu and webgpu; nearest: webgpu`,
    ),
    ...problemIf(
      dtype !== "float32" && isGeneratorRemote(model),
      () =>
        `model.generator_dtype: ${dtype}: servers generate in the format that they were started with (model.generator.engine=${model.generator.engine}); nearest: float32`,
    ),
    ...problemIf(
      dtype === "float16" && !isGeneratorRemote(model) && generator.kind !== "webgpu",
      () =>
        `model.generator_dtype: float16: ${format(generator)} generates in float32; nearest: float32, or model.generator_device=webgpu`,
    ),
    ...problemIf(
      dtype === "int8" && !isGeneratorRemote(model) && (model.runtime !== "onnx" || generator.kind !== "cpu"),
      () =>
        `model.generator_dtype: int8: ${model.runtime === "onnx" ? format(generator) : model.runtime} has no products of 8-bit numbers; nearest: float32`,
    ),
    ...problemIf(
      both && generator.index !== learner.index,
      () =>
        `model.learner_device: ${format(learner)}: one process has one WebGPU device, and the generator's is ${format(generator)}; nearest: ${format(generator)}`,
    ),
    ...problemIf(
      model.generator_prepack === "always" && (model.runtime !== "onnx" || generator.kind !== "cpu"),
      () =>
        `model.generator_prepack: always: ${model.runtime === "onnx" ? format(generator) : model.runtime} packs no weights; nearest: auto`,
    ),
    ...problemIf(
      generator.kind !== "cpu" && model.generator_threads > 1,
      () =>
        `model.generator_threads: ${model.generator_threads}: ${format(generator)} runs one step at a time, and each thread would hold the weights; nearest: 1`,
    ),
  ];
};
