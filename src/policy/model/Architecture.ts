/**
 * The sizes of a Qwen2 decoder and the ordered list of its parameters under their Hugging Face names.
 * The order is the layout of a version's flat buffer (Parameters.ts); linear weights are [out, in].
 */

export interface DecoderConfig {
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly layers: number;
  readonly heads: number;
  /** Heads of keys and values; divides `heads`. */
  readonly kvHeads: number;
  readonly headDim: number;
  readonly rmsNormEps: number;
  readonly ropeTheta: number;
  readonly maxPositions: number;
  /** The output matrix is the embedding. */
  readonly tieEmbedding: true;
}

export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
}

export const EMBEDDING = "model.embed_tokens.weight";
export const FINAL_NORM = "model.norm.weight";
export const VALUE_WEIGHT = "value_head.weight";
export const VALUE_BIAS = "value_head.bias";

/** "model.layers.3.mlp.up_proj.weight" from 3 and "mlp.up_proj.weight" */
export const layerParameter = (layer: number, name: string): string => `model.layers.${layer}.${name}`;

export const parameters = (config: DecoderConfig): readonly ParameterSpec[] => {
  const { vocabSize, hiddenSize, intermediateSize, heads, kvHeads, headDim } = config;
  const queries = heads * headDim;
  const keys = kvHeads * headDim;
  const layer = (index: number): readonly ParameterSpec[] =>
    (
      [
        ["input_layernorm.weight", [hiddenSize]],
        ["self_attn.q_proj.weight", [queries, hiddenSize]],
        ["self_attn.q_proj.bias", [queries]],
        ["self_attn.k_proj.weight", [keys, hiddenSize]],
        ["self_attn.k_proj.bias", [keys]],
        ["self_attn.v_proj.weight", [keys, hiddenSize]],
        ["self_attn.v_proj.bias", [keys]],
        ["self_attn.o_proj.weight", [hiddenSize, queries]],
        ["post_attention_layernorm.weight", [hiddenSize]],
        ["mlp.gate_proj.weight", [intermediateSize, hiddenSize]],
        ["mlp.up_proj.weight", [intermediateSize, hiddenSize]],
        ["mlp.down_proj.weight", [hiddenSize, intermediateSize]],
      ] as const
    ).map(([name, shape]) => ({ name: layerParameter(index, name), shape }));
  return [
    { name: EMBEDDING, shape: [vocabSize, hiddenSize] },
    ...Array.from({ length: config.layers }, (_, index) => layer(index)).flat(),
    { name: FINAL_NORM, shape: [hiddenSize] },
  ];
};

/** A critic's parameters: the trunk's and a linear head of one output. */
export const criticParameters = (config: DecoderConfig): readonly ParameterSpec[] => [
  ...parameters(config),
  { name: VALUE_WEIGHT, shape: [1, config.hiddenSize] },
  { name: VALUE_BIAS, shape: [1] },
];

export const elementCount = (shape: readonly number[]): number => shape.reduce((size, dim) => size * dim, 1);

/** Numbers in all of them together. */
export const parameterCount = (specs: readonly ParameterSpec[]): number =>
  specs.reduce((total, { shape }) => total + elementCount(shape), 0);
