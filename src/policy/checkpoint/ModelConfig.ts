/**
 * config.json of a checkpoint folder, to and from the sizes this program builds a model of. Only what it can train is accepted: Qwen2 with
 * tied embeddings, full attention and plain rotary positions; anything else is refused by name.
 */
import { Effect, Schema } from "effect";
import type { DecoderConfig } from "../model/Architecture.ts";
import { type CheckpointError, checkpointError } from "./CheckpointError.ts";
import type { FloatFormat } from "./FloatFormat.ts";

/** Ids of special tokens; a chat template may end replies with another than `eos`. */
export interface TokenIds {
  readonly bos: number | undefined;
  readonly eos: readonly number[];
  readonly pad: number | undefined;
}

export interface ModelConfig {
  readonly config: DecoderConfig;
  readonly tokens: TokenIds;
}

/** A size, up to some eight times the largest model's: a mistaken one is refused before anything is made of it. */
const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum }));
const Width = upTo(2 ** 18);
const Heads = upTo(2 ** 12);
const Positive = Schema.Finite.check(Schema.isGreaterThan(0));
const Id = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0));
const TokenId = Schema.NullOr(Id);
const EosIds = Schema.Union([TokenId, Schema.Array(Id)]);

const ConfigJson = Schema.Struct({
  hidden_size: Width,
  intermediate_size: upTo(2 ** 20),
  num_hidden_layers: upTo(2 ** 10),
  num_attention_heads: Heads,
  num_key_value_heads: Heads,
  vocab_size: upTo(2 ** 22),
  max_position_embeddings: upTo(2 ** 26),
  rms_norm_eps: Positive,
  head_dim: Schema.optionalKey(Schema.NullOr(upTo(2 ** 12))),
  hidden_act: Schema.optionalKey(Schema.String),
  tie_word_embeddings: Schema.optionalKey(Schema.Boolean),
  use_sliding_window: Schema.optionalKey(Schema.Boolean),
  rope_theta: Schema.optionalKey(Positive),
  rope_parameters: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({ rope_theta: Schema.optionalKey(Positive), rope_type: Schema.optionalKey(Schema.String) }),
    ),
  ),
  rope_scaling: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({ rope_type: Schema.optionalKey(Schema.String), type: Schema.optionalKey(Schema.String) }),
    ),
  ),
  bos_token_id: Schema.optionalKey(TokenId),
  eos_token_id: Schema.optionalKey(EosIds),
  pad_token_id: Schema.optionalKey(TokenId),
});
type ConfigJson = typeof ConfigJson.Type;

const Identity = Schema.Struct({
  model_type: Schema.optionalKey(Schema.String),
  architectures: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
});

const supported = "supported is Qwen2ForCausalLM with tied embeddings, full attention and default rotary positions";

const decoding = <S extends Schema.Codec<unknown, unknown>>(schema: S, json: unknown, path: string) =>
  Schema.decodeUnknownEffect(schema)(json).pipe(
    Effect.mapError((error) => checkpointError(path, "bad_config", error.message.replaceAll(/\s*\n\s*/g, " "))),
  );

/** The first thing in a well-formed config that this program cannot train, or undefined. */
const unsupportedFeature = (json: ConfigJson): string | undefined => {
  const ropeType =
    json.rope_parameters?.rope_type ?? json.rope_scaling?.rope_type ?? json.rope_scaling?.type ?? "default";
  if (json.tie_word_embeddings === false)
    return "its output matrix is not the embedding (tie_word_embeddings is not true)";
  if (json.use_sliding_window === true) return "it attends through a sliding window (use_sliding_window is true)";
  if (ropeType !== "default") return `its rotary positions are scaled ("${ropeType}")`;
  if ((json.hidden_act ?? "silu") !== "silu") return `its activation is "${json.hidden_act}", not "silu"`;
  return undefined;
};

const inconsistency = (json: ConfigJson): string | undefined => {
  const { hidden_size: hidden, num_attention_heads: heads, num_key_value_heads: kvHeads } = json;
  if (heads % kvHeads !== 0) return `num_attention_heads ${heads} is no multiple of num_key_value_heads ${kvHeads}`;
  const headDim = json.head_dim ?? hidden / heads;
  if (!Number.isInteger(headDim)) return `hidden_size ${hidden} is no multiple of num_attention_heads ${heads}`;
  if (headDim % 2 !== 0) return `the width of a head, ${headDim}, is odd; rotary positions turn pairs`;
  if (json.rope_theta === undefined && json.rope_parameters?.rope_theta === undefined) {
    return "it has neither rope_theta nor rope_parameters.rope_theta";
  }
  return undefined;
};

const EosJson = Schema.Struct({ eos_token_id: Schema.optionalKey(EosIds) });

const eosList = (eos: typeof EosIds.Type | undefined): readonly number[] =>
  typeof eos === "number" ? [eos] : (eos ?? []);

/** The end tokens generation_config.json names, where it names any. Fails with `CheckpointError`. */
export const decodeEos = (json: unknown, path: string): Effect.Effect<readonly number[], CheckpointError> =>
  Effect.map(decoding(EosJson, json, path), ({ eos_token_id: eos }) => eosList(eos));

/** The sizes and token ids in config.json's contents. Fails with `CheckpointError` naming the key. */
export const decodeConfig = Effect.fnUntraced(function* (
  json: unknown,
  path: string,
): Effect.fn.Return<ModelConfig, CheckpointError> {
  const { model_type: type, architectures } = yield* decoding(Identity, json, path);
  const architecture = architectures?.[0] ?? (type === "qwen2" ? "Qwen2ForCausalLM" : `model_type ${type ?? "absent"}`);
  if (architecture !== "Qwen2ForCausalLM") {
    return yield* checkpointError(path, "unsupported", `it holds ${architecture}; ${supported}`);
  }
  const decoded = yield* decoding(ConfigJson, json, path);
  const refused = unsupportedFeature(decoded);
  if (refused !== undefined) return yield* checkpointError(path, "unsupported", `${refused}; ${supported}`);
  const wrong = inconsistency(decoded);
  if (wrong !== undefined) return yield* checkpointError(path, "bad_config", wrong);
  return {
    config: {
      vocabSize: decoded.vocab_size,
      hiddenSize: decoded.hidden_size,
      intermediateSize: decoded.intermediate_size,
      layers: decoded.num_hidden_layers,
      heads: decoded.num_attention_heads,
      kvHeads: decoded.num_key_value_heads,
      headDim: decoded.head_dim ?? decoded.hidden_size / decoded.num_attention_heads,
      rmsNormEps: decoded.rms_norm_eps,
      ropeTheta: decoded.rope_parameters?.rope_theta ?? decoded.rope_theta ?? Number.NaN,
      maxPositions: decoded.max_position_embeddings,
      tieEmbedding: true,
    },
    tokens: {
      bos: decoded.bos_token_id ?? undefined,
      eos: eosList(decoded.eos_token_id),
      pad: decoded.pad_token_id ?? undefined,
    },
  };
});

const dtypeNames: Readonly<Record<FloatFormat, string>> = { F32: "float32", F16: "float16", BF16: "bfloat16" };

const tokenKeys = ({ bos, eos, pad }: TokenIds) => ({
  ...(bos === undefined ? {} : { bos_token_id: bos }),
  ...(eos.length === 0 ? {} : { eos_token_id: eos.length === 1 ? eos[0] : eos }),
  ...(pad === undefined ? {} : { pad_token_id: pad }),
});

/** The contents of config.json. */
export const encodeConfig = ({ config, tokens }: ModelConfig, format: FloatFormat) => ({
  architectures: ["Qwen2ForCausalLM"],
  model_type: "qwen2",
  hidden_size: config.hiddenSize,
  intermediate_size: config.intermediateSize,
  num_hidden_layers: config.layers,
  num_attention_heads: config.heads,
  num_key_value_heads: config.kvHeads,
  head_dim: config.headDim,
  vocab_size: config.vocabSize,
  max_position_embeddings: config.maxPositions,
  rms_norm_eps: config.rmsNormEps,
  rope_theta: config.ropeTheta,
  hidden_act: "silu",
  attention_dropout: 0,
  tie_word_embeddings: true,
  use_sliding_window: false,
  ...tokenKeys(tokens),
  torch_dtype: dtypeNames[format],
});

/** The contents of generation_config.json: what ends a generation, and sampling as in training. */
export const encodeGenerationConfig = (tokens: TokenIds) => ({ ...tokenKeys(tokens), do_sample: true, temperature: 1 });
