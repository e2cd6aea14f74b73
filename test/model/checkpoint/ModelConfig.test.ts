/** config.json of published models, by the keys that count, against the numbers of parameters that they are published with. */
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { decodeConfig } from "../../../src/model/checkpoint/ModelConfig.ts";
import { parameterCount, parameters } from "../../../src/model/graphs/Architecture.ts";

const llama = { architectures: ["LlamaForCausalLM"], model_type: "llama", hidden_act: "silu", rms_norm_eps: 1e-5 };
const qwen2 = { architectures: ["Qwen2ForCausalLM"], model_type: "qwen2", hidden_act: "silu", rms_norm_eps: 1e-6 };
const sizes = (
  [
    hidden_size,
    intermediate_size,
    num_hidden_layers,
    num_attention_heads,
    num_key_value_heads,
    vocab_size,
  ]: readonly number[],
  tie_word_embeddings: boolean,
) => ({
  hidden_size,
  intermediate_size,
  num_hidden_layers,
  num_attention_heads,
  num_key_value_heads,
  vocab_size,
  tie_word_embeddings,
});
const stretch = {
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
  rope_type: "llama3",
};

const published: ReadonlyArray<readonly [name: string, json: Record<string, unknown>, count: number]> = [
  [
    "SmolLM2-135M",
    { ...llama, ...sizes([576, 1536, 30, 9, 3, 49152], true), rope_theta: 1e5, max_position_embeddings: 8192 },
    134_515_008,
  ],
  [
    "Llama-3.2-1B",
    {
      ...llama,
      ...sizes([2048, 8192, 16, 32, 8, 128256], true),
      head_dim: 64,
      rope_theta: 5e5,
      rope_scaling: { ...stretch, factor: 32 },
      max_position_embeddings: 131072,
    },
    1_235_814_400,
  ],
  [
    "Llama-3.1-8B",
    {
      ...llama,
      ...sizes([4096, 14336, 32, 32, 8, 128256], false),
      rope_theta: 5e5,
      rope_scaling: { ...stretch, factor: 8 },
      max_position_embeddings: 131072,
    },
    8_030_261_248,
  ],
  [
    "Llama-2-7b, which names no base",
    { ...llama, ...sizes([4096, 11008, 32, 32, 32, 32000], false), max_position_embeddings: 4096 },
    6_738_415_616,
  ],
  [
    "Qwen2.5-0.5B",
    {
      ...qwen2,
      ...sizes([896, 4864, 24, 14, 2, 151936], true),
      rope_theta: 1e6,
      max_position_embeddings: 32768,
      sliding_window: 32768,
      use_sliding_window: false,
    },
    494_032_768,
  ],
  [
    "DeepSeek-R1-Distill-Qwen-1.5B",
    {
      ...qwen2,
      ...sizes([1536, 8960, 28, 12, 2, 151936], false),
      rope_theta: 1e4,
      max_position_embeddings: 131072,
      sliding_window: 4096,
      use_sliding_window: false,
    },
    1_777_088_000,
  ],
  [
    "Qwen3-0.6B",
    {
      ...qwen2,
      architectures: ["Qwen3ForCausalLM"],
      model_type: "qwen3",
      ...sizes([1024, 3072, 28, 16, 8, 151936], true),
      head_dim: 128,
      rope_theta: 1e6,
      max_position_embeddings: 40960,
      attention_bias: false,
      sliding_window: null,
      use_sliding_window: false,
    },
    596_049_920,
  ],
];

describe("config.json", () => {
  it.effect.each(published)("of %s has its number of parameters", ([, json, count]) =>
    Effect.gen(function* () {
      const { config } = yield* decodeConfig(json, "config.json");
      expect(parameterCount(parameters(config))).toBe(count);
      expect(Number.isFinite(config.ropeTheta)).toBe(true);
    }),
  );
});
