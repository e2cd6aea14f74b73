/**
 * config.json of a checkpoint folder, to and from the decoder this program builds. What it cannot train is refused by name (ConfigJson.ts).
 * Invariant: a config that was read is written with every key it came with; the number format and the token ids are this program's.
 */
import { Effect, Schema } from "effect";
import { type DecoderConfig, type Family, familyDefaults, type RotaryScaling } from "../graphs/Architecture.ts";
import { type CheckpointError, checkpointError } from "./CheckpointError.ts";
import {
  architectures,
  ConfigJson,
  EosIds,
  familyOf,
  headDimOf,
  Identity,
  inconsistency,
  ropeOf,
  ropeThetaOf,
  ropeType,
  unsupportedFeature,
} from "./ConfigJson.ts";
import type { FloatFormat } from "./FloatFormat.ts";
import { isJsonObject, type JsonObject } from "./TokenizerFiles.ts";

/** Ids of special tokens; a chat template may end replies with another than `eos`. */
export interface TokenIds {
  readonly bos: number | undefined;
  readonly eos: readonly number[];
  readonly pad: number | undefined;
}

export interface ModelConfig {
  readonly config: DecoderConfig;
  readonly tokens: TokenIds;
  /** config.json as it was read, for the keys that nothing here depends on; absent for a fresh model. */
  readonly source?: JsonObject | undefined;
}

const decodeJson = <S extends Schema.Codec<unknown, unknown>>(schema: S, json: unknown, path: string) =>
  Schema.decodeUnknownEffect(schema)(json).pipe(
    Effect.mapError((error) => checkpointError(path, "bad_config", error.message.replaceAll(/\s*\n\s*/g, " "))),
  );

const EosJson = Schema.Struct({ eos_token_id: Schema.optionalKey(EosIds) });

const eosList = (eos: typeof EosIds.Type | undefined): readonly number[] =>
  typeof eos === "number" ? [eos] : (eos ?? []);

/** The end tokens generation_config.json names, where it names any. Fails with `CheckpointError`. */
export const decodeEos = (json: unknown, path: string): Effect.Effect<readonly number[], CheckpointError> =>
  Effect.map(decodeJson(EosJson, json, path), ({ eos_token_id: eos }) => eosList(eos));

/** The scaling of a config whose keys are complete. */
const scalingOf = (json: ConfigJson): RotaryScaling => {
  const [, rope] = ropeOf(json);
  const { factor = 1 } = rope;
  if (ropeType(rope) === "linear") return { type: "linear", factor };
  if (ropeType(rope) !== "llama3") return { type: "default" };
  return {
    type: "llama3",
    factor,
    lowFrequencyFactor: rope.low_freq_factor ?? 1,
    highFrequencyFactor: rope.high_freq_factor ?? 1,
    originalMaxPositions: rope.original_max_position_embeddings ?? json.max_position_embeddings,
  };
};

const decoderOf = (family: Family, json: ConfigJson): DecoderConfig => {
  const { biases, queryKeyNorm } = familyDefaults[family];
  const attention = family === "qwen2" ? undefined : (json.attention_bias ?? undefined);
  return {
    family,
    vocabSize: json.vocab_size,
    hiddenSize: json.hidden_size,
    intermediateSize: json.intermediate_size,
    layers: json.num_hidden_layers,
    heads: json.num_attention_heads,
    kvHeads: json.num_key_value_heads ?? json.num_attention_heads,
    headDim: headDimOf(family, json),
    rmsNormEps: json.rms_norm_eps,
    ropeTheta: ropeThetaOf(family, json) ?? Number.NaN,
    ropeScaling: scalingOf(json),
    maxPositions: json.max_position_embeddings,
    biases: {
      qkv: attention ?? biases.qkv,
      output: attention ?? biases.output,
      mlp: family === "llama" ? (json.mlp_bias ?? biases.mlp) : biases.mlp,
    },
    queryKeyNorm,
    // The classes of all three families take an absent key for false.
    tieEmbedding: json.tie_word_embeddings ?? false,
  };
};

/** The decoder and token ids in config.json's contents. Fails with `CheckpointError` naming the key. */
export const decodeConfig = Effect.fnUntraced(function* (
  json: JsonObject,
  path: string,
): Effect.fn.Return<ModelConfig, CheckpointError> {
  const found = familyOf(yield* decodeJson(Identity, json, path));
  if ("refused" in found) return yield* checkpointError(path, "unsupported", found.refused);
  const { family } = found;
  const decoded = yield* decodeJson(ConfigJson, json, path);
  const refused = unsupportedFeature(decoded);
  if (refused !== undefined) return yield* checkpointError(path, "unsupported", refused);
  const wrong = inconsistency(family, decoded);
  if (wrong !== undefined) return yield* checkpointError(path, "bad_config", wrong);
  return {
    config: decoderOf(family, decoded),
    tokens: {
      bos: decoded.bos_token_id ?? undefined,
      eos: eosList(decoded.eos_token_id),
      pad: decoded.pad_token_id ?? undefined,
    },
    source: json,
  };
});

const dtypeNames: Readonly<Record<FloatFormat, string>> = { F32: "float32", F16: "float16", BF16: "bfloat16" };

const tokenKeys = ({ bos, eos, pad }: TokenIds) => ({
  ...(bos === undefined ? {} : { bos_token_id: bos }),
  ...(eos.length === 0 ? {} : { eos_token_id: eos.length === 1 ? eos[0] : eos }),
  ...(pad === undefined ? {} : { pad_token_id: pad }),
});

const scalingKeys = (scaling: RotaryScaling): JsonObject => {
  if (scaling.type === "default") return {};
  if (scaling.type === "linear") return { factor: scaling.factor };
  return {
    factor: scaling.factor,
    low_freq_factor: scaling.lowFrequencyFactor,
    high_freq_factor: scaling.highFrequencyFactor,
    original_max_position_embeddings: scaling.originalMaxPositions,
  };
};

/** The rotary keys in the form the folder came in: transformers 5 has one object, transformers 4 two keys. */
const ropeKeys = ({ ropeScaling, ropeTheta }: DecoderConfig, source: JsonObject): JsonObject => {
  const scalingEntries = { rope_type: ropeScaling.type, ...scalingKeys(ropeScaling) };
  if (isJsonObject(source.rope_parameters))
    return { rope_parameters: { ...source.rope_parameters, ...scalingEntries, rope_theta: ropeTheta } };
  const scaled = ropeScaling.type === "default" ? {} : { rope_scaling: scalingEntries };
  return { rope_theta: ropeTheta, ...scaled };
};

const biasKeys = ({ biases, family }: DecoderConfig): JsonObject => ({
  ...(family === "qwen2" ? {} : { attention_bias: biases.qkv }),
  ...(family === "llama" ? { mlp_bias: biases.mlp } : {}),
});

/** The contents of config.json. */
export const encodeConfig = ({ config, source = {}, tokens }: ModelConfig, format: FloatFormat): JsonObject => ({
  ...source,
  architectures: [architectures[config.family]],
  model_type: config.family,
  hidden_size: config.hiddenSize,
  intermediate_size: config.intermediateSize,
  num_hidden_layers: config.layers,
  num_attention_heads: config.heads,
  num_key_value_heads: config.kvHeads,
  head_dim: config.headDim,
  vocab_size: config.vocabSize,
  max_position_embeddings: config.maxPositions,
  rms_norm_eps: config.rmsNormEps,
  ...ropeKeys(config, source),
  ...biasKeys(config),
  hidden_act: "silu",
  attention_dropout: 0,
  tie_word_embeddings: config.tieEmbedding,
  ...(config.family === "llama" ? {} : { use_sliding_window: false }),
  ...tokenKeys(tokens),
  // transformers 5 calls it dtype.
  ...(source.dtype === undefined || source.torch_dtype !== undefined ? { torch_dtype: dtypeNames[format] } : {}),
  ...(source.dtype === undefined ? {} : { dtype: dtypeNames[format] }),
});

/** The contents of generation_config.json: what ends a generation, and sampling as in training. */
export const encodeGenerationConfig = (tokens: TokenIds): JsonObject => ({
  ...tokenKeys(tokens),
  do_sample: true,
  temperature: 1,
});
