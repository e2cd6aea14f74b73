/**
 * The one description of a decoder, where families differ only in data, and the ordered list of its parameters under their Hugging Face
 * names. The order is the layout of a version's flat buffer (Parameters.ts); linear weights are [out, in].
 */
import type { Adapter } from "./Adapter.ts";

export const families = ["llama", "qwen2", "qwen3"] as const;
export type Family = (typeof families)[number];

/** The linear layers of a block that add a bias. */
export interface Biases {
  /** Queries, keys and values. */
  readonly qkv: boolean;
  /** The projection of the attended values. */
  readonly output: boolean;
  /** All three of the MLP. */
  readonly mlp: boolean;
}

/** The stretch of rotary frequencies for contexts longer than those of pretraining (Rotary.ts). */
export type RotaryScaling =
  | { readonly type: "default" }
  | { readonly type: "linear"; readonly factor: number }
  | {
      readonly type: "llama3";
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      readonly originalMaxPositions: number;
    };

export interface DecoderConfig {
  /** The family that the folder is saved as. Graphs are built from the fields below alone. */
  readonly family: Family;
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly layers: number;
  readonly heads: number;
  /** Heads of keys and values; divides `heads`. */
  readonly kvHeads: number;
  /** Even; `heads * headDim` need not be `hiddenSize`. */
  readonly headDim: number;
  readonly rmsNormEps: number;
  readonly ropeTheta: number;
  readonly ropeScaling: RotaryScaling;
  readonly maxPositions: number;
  readonly biases: Biases;
  /** Every head's query and key pass an RMS norm before they are rotated. */
  readonly queryKeyNorm: boolean;
  /** The output matrix is the embedding. */
  readonly tieEmbedding: boolean;
  /** The adapter that is trained instead of the weights; absent when all weights are trained. */
  readonly adapter?: Adapter | undefined;
}

/** The defaults that the decoders of a family share. */
export const familyDefaults: Readonly<
  Record<Family, Pick<DecoderConfig, "family" | "biases" | "queryKeyNorm" | "ropeScaling">>
> = {
  llama: {
    family: "llama",
    biases: { qkv: false, output: false, mlp: false },
    queryKeyNorm: false,
    ropeScaling: { type: "default" },
  },
  qwen2: {
    family: "qwen2",
    biases: { qkv: true, output: false, mlp: false },
    queryKeyNorm: false,
    ropeScaling: { type: "default" },
  },
  qwen3: {
    family: "qwen3",
    biases: { qkv: false, output: false, mlp: false },
    queryKeyNorm: true,
    ropeScaling: { type: "default" },
  },
};

export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
}

export const EMBEDDING = "model.embed_tokens.weight";
export const FINAL_NORM = "model.norm.weight";
/** The output matrix of a decoder that does not share it with the embedding. */
export const OUTPUT = "lm_head.weight";
export const VALUE_WEIGHT = "value_head.weight";
export const VALUE_BIAS = "value_head.bias";

/** "model.layers.3.mlp.up_proj.weight" from 3 and "mlp.up_proj.weight" */
export const layerParameter = (layer: number, name: string): string => `model.layers.${layer}.${name}`;

type NamedShape = readonly [name: string, shape: readonly number[]];

/** A linear layer [out, in] with the bias it may have. */
const linear = (name: string, out: number, input: number, biased: boolean): readonly NamedShape[] => [
  [`${name}.weight`, [out, input]],
  ...(biased ? [[`${name}.bias`, [out]] as const] : []),
];

const norm = (name: string, width: number, present = true): readonly NamedShape[] =>
  present ? [[`${name}.weight`, [width]]] : [];

const blockParameters = (config: DecoderConfig): readonly NamedShape[] => {
  const { biases, hiddenSize, intermediateSize, heads, kvHeads, headDim, queryKeyNorm } = config;
  const queries = heads * headDim;
  const keys = kvHeads * headDim;
  return [
    ...norm("input_layernorm", hiddenSize),
    ...linear("self_attn.q_proj", queries, hiddenSize, biases.qkv),
    ...linear("self_attn.k_proj", keys, hiddenSize, biases.qkv),
    ...linear("self_attn.v_proj", keys, hiddenSize, biases.qkv),
    ...linear("self_attn.o_proj", hiddenSize, queries, biases.output),
    ...norm("self_attn.q_norm", headDim, queryKeyNorm),
    ...norm("self_attn.k_norm", headDim, queryKeyNorm),
    ...norm("post_attention_layernorm", hiddenSize),
    ...linear("mlp.gate_proj", intermediateSize, hiddenSize, biases.mlp),
    ...linear("mlp.up_proj", intermediateSize, hiddenSize, biases.mlp),
    ...linear("mlp.down_proj", hiddenSize, intermediateSize, biases.mlp),
  ];
};

/** Everything from token ids to final hidden states. */
const trunkParameters = (config: DecoderConfig): readonly ParameterSpec[] => {
  const { vocabSize, hiddenSize, layers } = config;
  const block = blockParameters(config);
  return [
    { name: EMBEDDING, shape: [vocabSize, hiddenSize] },
    ...Array.from({ length: layers }, (_, layer) =>
      block.map(([name, shape]) => ({ name: layerParameter(layer, name), shape })),
    ).flat(),
    { name: FINAL_NORM, shape: [hiddenSize] },
  ];
};

/** A language model's parameters: the trunk's and, where it is not the embedding, the output matrix. */
export const parameters = (config: DecoderConfig): readonly ParameterSpec[] => [
  ...trunkParameters(config),
  ...(config.tieEmbedding ? [] : [{ name: OUTPUT, shape: [config.vocabSize, config.hiddenSize] }]),
];

/** A critic's parameters: the trunk's and a linear head of one output; it has no output matrix. */
export const criticParameters = (config: DecoderConfig): readonly ParameterSpec[] => [
  ...trunkParameters(config),
  { name: VALUE_WEIGHT, shape: [1, config.hiddenSize] },
  { name: VALUE_BIAS, shape: [1] },
];

export const elementCount = (shape: readonly number[]): number => shape.reduce((size, dim) => size * dim, 1);

/** Numbers in all of them together. */
export const parameterCount = (specs: readonly ParameterSpec[]): number =>
  specs.reduce((total, { shape }) => total + elementCount(shape), 0);
