/** The section `model`: the policy's starting weights, its adapter, and the servers, threads and devices that generate and learn. */
import { Schema } from "effect";
import { devicePattern } from "../../domain/Device.ts";
import { loraTargets } from "../../domain/loraTargets.ts";
import { aboveZero, between, field, optionalPath, path, section, threads, whole } from "../field.ts";
import { GeneratorSection } from "./GeneratorSection.ts";
import { LearnerSection } from "./LearnerSection.ts";

const LoraSection = Schema.Struct({
  rank: field(
    whole(0, 4_096),
    0,
    "Rank of the LoRA adapter that is trained instead of the weights; 0 trains the weights.",
  ),
  alpha: field(aboveZero(1_000_000), 64, "LoRA alpha: the adapter's output is scaled by alpha / rank."),
  target_modules: field(
    Schema.Union([
      Schema.Literal("all-linear"),
      Schema.Array(Schema.Literals(loraTargets)).check(Schema.isMinLength(1)),
    ]),
    "all-linear",
    `Linear layers with an adapter: all-linear, or a list of ${loraTargets.join(", ")}.`,
  ),
  dropout: field(between(0, 1), 0, "Dropout before the adapter; only 0 is supported."),
});

const expected = "cpu, webgpu, webgpu:1, cuda or cuda:N; nearest: cpu";
const device = Schema.String.check(Schema.isPattern(devicePattern, { expected }));
const roleDevice = Schema.String.check(
  Schema.makeFilter((text) => text === "" || devicePattern.test(text), { expected: `nothing, ${expected}` }),
);

export const ModelSection = Schema.Struct({
  path: field(
    path,
    "config/models/nano",
    "Hugging Face folder of the starting weights: Llama, Qwen2 or Qwen3 (docs/models.md).",
  ),
  runtime: field(
    Schema.Literals(["onnx", "tfjs"]),
    "onnx",
    "Runtime of the model: onnxruntime, or TensorFlow.js if its package is installed (docs/tfjs.md).",
  ),
  device: field(
    device,
    "cpu",
    "Device of generator and learner: cpu, webgpu, webgpu:1 (the low-power GPU), cuda or cuda:N (docs/devices.md).",
  ),
  generator_device: field(roleDevice, "", "Device of the generator; empty is model.device."),
  generator_dtype: field(
    Schema.Literals(["float32", "float16", "int8"]),
    "float32",
    "Number format of generation: float32; float16 for weights and caches on webgpu; int8 for linear layers on the CPU. Rounding makes it off-policy (docs/devices.md).",
  ),
  learner_device: field(roleDevice, "", "Device of the learner; empty is model.device."),
  adapter: field(
    optionalPath,
    "",
    "PEFT folder of the adapter that a run starts from; it sets rank, alpha and layers.",
  ),
  lora: section(LoraSection, "The LoRA adapter that is trained instead of the weights."),
  generator: section(GeneratorSection, "The generator: threads of this process, or servers."),
  generator_threads: field(threads, 1, "Generator threads, each with its own sequences, caches and sessions."),
  generator_intra_op: field(
    threads,
    1,
    "Intra-op threads of each generator thread. A large model is read once for all of them (docs/devices.md).",
  ),
  generator_prepack: field(
    Schema.Literals(["auto", "always", "never"]),
    "auto",
    "When onnxruntime packs weights once a version instead of in every decode step, which takes memory: auto, for large models and for weights that do not change, as in evaluations; always; never (docs/devices.md). int8 is always packed.",
  ),
  learner: section(LearnerSection, "The learner: this process, or a server on another machine."),
  learner_lanes: field(
    threads,
    1,
    "Learner threads (lanes) that share an update's micro-batches; each holds its own sessions.",
  ),
  learner_intra_op: field(threads, 1, "Intra-op threads of each session of the learner."),
});
