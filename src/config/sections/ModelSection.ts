/** The policy's starting weights, the threads of generators and learner, and the devices they compute on. */
import { Schema } from "effect";
import { devicePattern } from "../../domain/Device.ts";
import { field, path, threads } from "../field.ts";

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
  learner_device: field(roleDevice, "", "The learner's device; empty, that of model.device."),
  generator_threads: field(threads, 1, "Generator threads, each with one intra-op thread."),
  learner_lanes: field(threads, 1, "Threads that share the micro-batches of an update, each with sessions of its own."),
  learner_intra_op: field(threads, 1, "Intra-op threads of each of the learner's sessions."),
});
