/** The policy's starting weights, the adapter that is trained in their place, and who generates and learns: servers, threads and devices. */
import { Schema } from "effect";
import { devicePattern } from "../../domain/Device.ts";
import { aboveZero, between, field, optionalPath, path, section, threads, whole } from "../field.ts";
import { GeneratorSection } from "./GeneratorSection.ts";
import { LearnerSection } from "./LearnerSection.ts";

/** The linear layers that an adapter may stand beside: of a block, under their names at PEFT. */
export const loraTargets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"] as const;

const LoraSection = Schema.Struct({
  rank: field(whole(0, 4_096), 0, "Rank of the adapter that is trained in place of the weights; 0 trains the weights."),
  alpha: field(aboveZero(1_000_000), 64, "The adapter counts alpha / rank."),
  target_modules: field(
    Schema.Union([
      Schema.Literal("all-linear"),
      Schema.Array(Schema.Literals(loraTargets)).check(Schema.isMinLength(1)),
    ]),
    "all-linear",
    `Linear layers with an adapter: all-linear, or a list of ${loraTargets.join(", ")}.`,
  ),
  dropout: field(between(0, 1), 0, "Dropout before the adapter; none but 0 is available."),
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
    "What runs the model: onnxruntime, or TensorFlow.js where its package is installed (docs/tfjs.md).",
  ),
  device: field(
    device,
    "cpu",
    "Where generator and learner compute: cpu, webgpu, webgpu:1 (the adapter that saves power), cuda or cuda:N (docs/devices.md).",
  ),
  generator_device: field(roleDevice, "", "The generator's device; empty, that of model.device."),
  generator_dtype: field(
    Schema.Literals(["float32", "float16", "int8"]),
    "float32",
    "Number format in generation: float32; on webgpu float16, of weights and caches; on the CPU int8, of linear layers. As off-policy as its rounding (docs/devices.md).",
  ),
  learner_device: field(roleDevice, "", "The learner's device; empty, that of model.device."),
  adapter: field(
    optionalPath,
    "",
    "PEFT folder of an adapter to model.path that a run starts from; it brings its rank, alpha and layers.",
  ),
  lora: section(LoraSection, "The low-rank adapter that is trained in place of the weights."),
  generator: section(GeneratorSection, "Where the policy generates."),
  generator_threads: field(threads, 1, "Generator threads, each with one intra-op thread."),
  learner: section(LearnerSection, "What trains the policy, where another machine does."),
  learner_lanes: field(threads, 1, "Threads that share the micro-batches of an update, each with sessions of its own."),
  learner_intra_op: field(threads, 1, "Intra-op threads of each of the learner's sessions."),
});
