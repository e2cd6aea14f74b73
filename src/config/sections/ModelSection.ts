/** The policy's starting weights, and the threads of generators and learner. */
import { Schema } from "effect";
import { field, path, threads } from "../field.ts";

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
  generator_threads: field(threads, 1, "Generator threads, each with one intra-op thread."),
  learner_lanes: field(threads, 1, "Threads that share the micro-batches of an update, each with sessions of its own."),
  learner_intra_op: field(threads, 1, "Intra-op threads of each of the learner's sessions."),
});
