/**
 * A Llama model in a GGUF file, read as the checkpoint of a Hugging Face folder.
 * llama.cpp stores the two rows of a rotated pair of queries or keys side by side. Hugging Face stores all first rows, then all
 * second ones.
 * Invariant: names and sizes agree before any weights are read.
 */
import { Effect } from "effect";
import { type DecoderConfig, EMBEDDING, FINAL_NORM, OUTPUT, parameters } from "../../graphs/Architecture.ts";
import { namedTensors, type Parameters, parametersOf } from "../../graphs/Parameters.ts";
import { type CheckpointError, checkpointError, fromUnknown } from "../CheckpointError.ts";
import type { Checkpoint } from "../HuggingFaceFolder.ts";
import { decodeConfig } from "../ModelConfig.ts";
import type { JsonObject } from "../TokenizerFiles.ts";
import { GgufFile } from "./GgufFile.ts";
import { tokenizerOf } from "./GgufTokenizer.ts";

const layerNames: Readonly<Record<string, string>> = {
  input_layernorm: "attn_norm",
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  post_attention_layernorm: "ffn_norm",
  "mlp.gate_proj": "ffn_gate",
  "mlp.up_proj": "ffn_up",
  "mlp.down_proj": "ffn_down",
};

const otherNames: Readonly<Record<string, string>> = {
  [EMBEDDING]: "token_embd.weight",
  [FINAL_NORM]: "output_norm.weight",
  [OUTPUT]: "output.weight",
};

/** "blk.3.attn_q.weight" from "model.layers.3.self_attn.q_proj.weight". */
const ggufName = (name: string): string => {
  const [, layer = "", module = ""] = /^model\.layers\.(\d+)\.(.+)\.weight$/.exec(name) ?? [];
  return otherNames[name] ?? `blk.${layer}.${layerNames[module] ?? module}.weight`;
};

/** Reorders a matrix's rows, head by head: row 2i becomes row i of its head, row 2i + 1 becomes row i of its second half. */
export const splitPairs = (values: Float32Array, columns: number, headDim: number): void => {
  const paired = values.slice();
  for (let row = 0; row < paired.length / columns; row++) {
    const inHead = row % headDim;
    const target = row - inHead + (inHead % 2) * (headDim / 2) + Math.floor(inHead / 2);
    values.set(paired.subarray(row * columns, (row + 1) * columns), target * columns);
  }
};

/** The contents of config.json, for which decodeConfig checks every size. */
const configJson = (file: GgufFile): JsonObject => {
  const key = (name: string) => `llama.${name}`;
  const heads = file.number(key("attention.head_count"));
  const width = file.number(key("embedding_length"));
  const id = (name: string) => (file.has(name) ? file.number(name) : null);
  return {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    attention_bias: false,
    mlp_bias: false,
    hidden_act: "silu",
    hidden_size: width,
    head_dim: file.has(key("attention.key_length")) ? file.number(key("attention.key_length")) : width / heads,
    intermediate_size: file.number(key("feed_forward_length")),
    max_position_embeddings: file.number(key("context_length")),
    num_attention_heads: heads,
    num_hidden_layers: file.number(key("block_count")),
    num_key_value_heads: file.has(key("attention.head_count_kv")) ? file.number(key("attention.head_count_kv")) : heads,
    // Stored as a float32; the decimal number that was meant has few digits.
    rms_norm_eps: Number(file.number(key("attention.layer_norm_rms_epsilon")).toPrecision(6)),
    rope_theta: file.has(key("rope.freq_base")) ? file.number(key("rope.freq_base")) : 10_000,
    rope_scaling: null,
    tie_word_embeddings: file.shapeOf("output.weight") === undefined,
    vocab_size: file.shapeOf("token_embd.weight")?.[0] ?? 0,
    bos_token_id: id("tokenizer.ggml.bos_token_id"),
    eos_token_id: id("tokenizer.ggml.eos_token_id"),
    pad_token_id: id("tokenizer.ggml.padding_token_id"),
  };
};

/** Returns why the file cannot be read as a Llama folder, or undefined. */
const refusalOf = (file: GgufFile): string | undefined => {
  const architecture = file.text("general.architecture");
  if (architecture !== "llama") return `general.architecture is "${architecture}"; supported is "llama"`;
  const scaling = file.has("llama.rope.scaling.type") ? file.text("llama.rope.scaling.type") : "none";
  if (scaling !== "none") return `llama.rope.scaling.type is "${scaling}"; supported is "none"`;
  if (file.shapeOf("rope_freqs.weight") !== undefined) return 'it scales rotary positions by "rope_freqs.weight"';
  return undefined;
};

/** Returns how the file's tensors differ from the decoder's, or undefined. */
const mismatchOf = (file: GgufFile, config: DecoderConfig): string | undefined => {
  const specs = parameters(config);
  const expectedNames = new Set(specs.map(({ name }) => ggufName(name)));
  const unexpected = file.names.find((name) => !expectedNames.has(name));
  if (unexpected !== undefined) return `it holds "${unexpected}", which this model does not have`;
  for (const { name, shape } of specs) {
    const foundShape = file.shapeOf(ggufName(name));
    if (foundShape === undefined) return `it lacks "${ggufName(name)}"`;
    if (foundShape.join() !== shape.join())
      return `tensor "${ggufName(name)}" has shape [${foundShape.join(", ")}], and its sizes ask for [${shape.join(", ")}]`;
  }
  return undefined;
};

const weightsOf = async (file: GgufFile, config: DecoderConfig): Promise<Parameters> => {
  const result = parametersOf(parameters(config));
  for (const { name, values } of namedTensors(result)) {
    await file.readInto(ggufName(name), values);
    if (/\.self_attn\.[qk]_proj\.weight$/.test(name)) splitPairs(values, config.hiddenSize, config.headDim);
  }
  return result;
};

/** Runs what throws CheckpointError. */
const attempt = <A>(path: string, work: () => A | Promise<A>): Effect.Effect<A, CheckpointError> =>
  Effect.tryPromise({ try: async () => work(), catch: (cause) => fromUnknown(path, cause) });

const checkpointIn = Effect.fnUntraced(function* (
  path: string,
  file: GgufFile,
): Effect.fn.Return<Checkpoint, CheckpointError> {
  const refused = yield* attempt(path, () => refusalOf(file));
  if (refused !== undefined) return yield* checkpointError(path, "unsupported", refused);
  const model = yield* decodeConfig(yield* attempt(path, () => configJson(file)), path);
  const mismatch = mismatchOf(file, model.config);
  if (mismatch !== undefined) return yield* checkpointError(path, "wrong_shape", mismatch);
  const tokenizer = yield* attempt(path, () => tokenizerOf(path, file, model.config.maxPositions));
  const parameters = yield* attempt(path, () => weightsOf(file, model.config));
  return { ...model, parameters, format: "F32", tokenizer };
});

/** Reads the model of a .gguf file. Fails with `CheckpointError` naming the key or tensor and what is supported. */
export const readGguf = (path: string): Effect.Effect<Checkpoint, CheckpointError> =>
  Effect.acquireUseRelease(
    attempt(path, () => GgufFile.open(path)),
    (file) => checkpointIn(path, file),
    (file) => Effect.promise(() => file[Symbol.asyncDispose]()),
  );
