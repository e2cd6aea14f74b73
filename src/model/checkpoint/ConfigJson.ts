/**
 * config.json of a decoder's folder as transformers writes it, and the features that this program cannot train.
 * Each refusal names the key, its value and what is supported, before any weights are read.
 */
import { Schema } from "effect";
import type { Family } from "../graphs/Architecture.ts";

/** A size, up to some eight times the largest model's: a mistaken one is refused before anything is made of it. */
const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum }));
const Width = upTo(2 ** 18);
const Heads = upTo(2 ** 12);
const Positions = upTo(2 ** 26);
const Positive = Schema.Finite.check(Schema.isGreaterThan(0));
const Id = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0));
const TokenId = Schema.NullOr(Id);
const Flag = Schema.optionalKey(Schema.NullOr(Schema.Boolean));
export const EosIds = Schema.Union([TokenId, Schema.Array(Id)]);

const Rope = Schema.Struct({
  rope_theta: Schema.optionalKey(Positive),
  rope_type: Schema.optionalKey(Schema.String),
  type: Schema.optionalKey(Schema.String),
  factor: Schema.optionalKey(Positive),
  low_freq_factor: Schema.optionalKey(Positive),
  high_freq_factor: Schema.optionalKey(Positive),
  original_max_position_embeddings: Schema.optionalKey(Positions),
  partial_rotary_factor: Schema.optionalKey(Positive),
});
export type Rope = typeof Rope.Type;

export const ConfigJson = Schema.Struct({
  hidden_size: Width,
  intermediate_size: upTo(2 ** 20),
  num_hidden_layers: upTo(2 ** 10),
  num_attention_heads: Heads,
  num_key_value_heads: Schema.optionalKey(Schema.NullOr(Heads)),
  vocab_size: upTo(2 ** 22),
  max_position_embeddings: Positions,
  rms_norm_eps: Positive,
  head_dim: Schema.optionalKey(Schema.NullOr(upTo(2 ** 12))),
  hidden_act: Schema.optionalKey(Schema.String),
  attention_bias: Flag,
  mlp_bias: Flag,
  tie_word_embeddings: Flag,
  use_sliding_window: Flag,
  layer_types: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  partial_rotary_factor: Schema.optionalKey(Schema.NullOr(Positive)),
  rope_theta: Schema.optionalKey(Positive),
  /** transformers 5, with the base in it; rope_scaling is transformers 4's. */
  rope_parameters: Schema.optionalKey(Schema.NullOr(Rope)),
  rope_scaling: Schema.optionalKey(Schema.NullOr(Rope)),
  bos_token_id: Schema.optionalKey(TokenId),
  eos_token_id: Schema.optionalKey(EosIds),
  pad_token_id: Schema.optionalKey(TokenId),
});
export type ConfigJson = typeof ConfigJson.Type;

/** The keys that name a folder's architecture, whatever else it holds. */
export const Identity = Schema.Struct({
  model_type: Schema.optionalKey(Schema.NullOr(Schema.String)),
  architectures: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  quantization_config: Schema.optionalKey(Schema.Unknown),
});
export type Identity = typeof Identity.Type;

/** The class of transformers that each family's folders name; their model_type is the family's own name. */
export const architectures: Readonly<Record<Family, string>> = {
  llama: "LlamaForCausalLM",
  qwen2: "Qwen2ForCausalLM",
  qwen3: "Qwen3ForCausalLM",
};

/** Returns the width of a head, with the family's default for an absent key. */
export const headDimOf = (family: Family, { head_dim, hidden_size, num_attention_heads }: ConfigJson): number =>
  head_dim ?? (family === "qwen3" ? 128 : hidden_size / num_attention_heads);

/** The base of the rotary frequencies; Llama 2's folders leave it out. Undefined where it is absent and has no such default. */
export const ropeThetaOf = (family: Family, json: ConfigJson): number | undefined =>
  ropeOf(json)[1].rope_theta ?? json.rope_theta ?? (family === "llama" ? 10_000 : undefined);

const quote = (value: unknown): string => JSON.stringify(value)?.slice(0, 60) ?? "absent";

const refusal = (key: string, value: unknown, supported: string): string =>
  `${key} is ${quote(value)}; supported is ${supported}`;

/** The family of a folder, or why it is of none. */
export const familyOf = ({
  architectures: classNames,
  model_type: type,
  quantization_config: quantized,
}: Identity): { readonly family: Family } | { readonly refused: string } => {
  const classes = Object.values(architectures).join(", ");
  const families = Object.entries(architectures) as [Family, string][];
  const [class_] = classNames ?? [];
  const [family] = families.find(([name, each]) => (class_ === undefined ? name === type : each === class_)) ?? [];
  if (family === undefined) {
    const [key, value] = class_ === undefined ? ["model_type", type ?? undefined] : ["architectures", class_];
    return { refused: refusal(key, value, classes) };
  }
  if (type !== undefined && type !== null && type !== family)
    return { refused: refusal("model_type", type, `"${family}" for ${architectures[family]}`) };
  if (quantized !== undefined && quantized !== null)
    return {
      refused: refusal("quantization_config", quantized, "weights in F32, F16 or BF16 (dequantise them first)"),
    };
  return { family };
};

/** The key and the contents of what scales the rotary positions. */
export const ropeOf = ({ rope_parameters, rope_scaling }: ConfigJson): readonly [key: string, rope: Rope] =>
  rope_parameters ? ["rope_parameters", rope_parameters] : ["rope_scaling", rope_scaling ?? {}];

export const ropeType = (rope: Rope): string => rope.rope_type ?? rope.type ?? "default";

const ropeTypes = ["default", "linear", "llama3"];

/** The first thing in a well-formed config that this program cannot train, or undefined. */
export const unsupportedFeature = (json: ConfigJson): string | undefined => {
  const [key, rope] = ropeOf(json);
  const partial = rope.partial_rotary_factor ?? json.partial_rotary_factor ?? 1;
  const sliding = json.layer_types?.find((type) => type !== "full_attention");
  if (json.use_sliding_window === true) return refusal("use_sliding_window", true, "full attention (false)");
  if (sliding !== undefined) return refusal("layer_types", sliding, '"full_attention" in every layer');
  if (!ropeTypes.includes(ropeType(rope)))
    return refusal(`${key}.rope_type`, ropeType(rope), ropeTypes.map(quote).join(", "));
  if (partial !== 1) return refusal("partial_rotary_factor", partial, "1, rotary positions over the whole head");
  if ((json.hidden_act ?? "silu") !== "silu") return refusal("hidden_act", json.hidden_act, '"silu"');
  return undefined;
};

const missingScale = (json: ConfigJson): string | undefined => {
  const [key, rope] = ropeOf(json);
  const type = ropeType(rope);
  const needed = {
    default: [],
    linear: ["factor"],
    llama3: ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"],
  } as const satisfies Readonly<Record<string, readonly (keyof Rope)[]>>;
  const keys: readonly (keyof Rope)[] = type === "linear" || type === "llama3" ? needed[type] : [];
  const missing = keys.find((name) => rope[name] === undefined);
  if (missing !== undefined) return `${key}.${missing} is absent; rotary positions of type "${type}" need it`;
  if (type === "llama3" && (rope.high_freq_factor ?? 0) <= (rope.low_freq_factor ?? 0))
    return `${key}.high_freq_factor ${rope.high_freq_factor} is not above low_freq_factor ${rope.low_freq_factor}`;
  return undefined;
};

/** The first key that does not fit the others, or undefined. */
export const inconsistency = (family: Family, json: ConfigJson): string | undefined => {
  const { hidden_size: hidden, num_attention_heads: heads } = json;
  const kvHeads = json.num_key_value_heads ?? heads;
  if (heads % kvHeads !== 0) return `num_attention_heads ${heads} is no multiple of num_key_value_heads ${kvHeads}`;
  const headDim = headDimOf(family, json);
  if (!Number.isInteger(headDim)) return `hidden_size ${hidden} is no multiple of num_attention_heads ${heads}`;
  if (headDim % 2 !== 0) return `the width of a head, ${headDim}, is odd; rotary positions turn pairs`;
  if (ropeThetaOf(family, json) === undefined) return "it has neither rope_theta nor rope_parameters.rope_theta";
  return missingScale(json);
};
