import { cp, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { checkpointError } from "../../../src/model/checkpoint/CheckpointError.ts";
import { round } from "../../../src/model/checkpoint/FloatFormat.ts";
import { readCheckpoint, readModelConfig, writeCheckpoint } from "../../../src/model/checkpoint/HuggingFaceFolder.ts";
import { readParameters, writeParameters } from "../../../src/model/checkpoint/ParameterFile.ts";
import * as Safetensors from "../../../src/model/checkpoint/Safetensors.ts";
import { criticParameters, parameters as specsOf } from "../../../src/model/graphs/Architecture.ts";
import { parametersOf, tensorOf } from "../../../src/model/graphs/Parameters.ts";
import { replaceFolder } from "../../../src/support/files/AtomicWrite.ts";
import { folders } from "../folders.ts";

const fixtures = fileURLToPath(new URL("../../fixtures", import.meta.url));
let root: string;
let folder: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "millrace-folder-"));
  folder = join(root, "model");
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Makes the folder a copy of a fixture as transformers saved it, with a tokenizer. */
const copyOf = async (fixture: string): Promise<void> => {
  await rm(folder, { recursive: true, force: true });
  await cp(fixture, folder, { recursive: true, filter: (file) => !/reference|generation\.json|generate/.test(file) });
  for (const file of ["tokenizer.json", "tokenizer_config.json"]) {
    await cp(join(fixtures, "qwen2-tokenizer", file), join(folder, file));
  }
};

beforeEach(() => copyOf(join(fixtures, "qwen2-tiny")));

const readJson = async (path: string): Promise<Record<string, unknown>> => JSON.parse(await readFile(path, "utf8"));
const editConfig = (change: Record<string, unknown>) =>
  Effect.promise(async () => {
    const path = join(folder, "config.json");
    await writeFile(path, JSON.stringify({ ...(await readJson(path)), ...change }));
  });
const editTensors = (change: (tensors: Map<string, Safetensors.Tensor>) => void) =>
  Effect.gen(function* () {
    const path = join(folder, "model.safetensors");
    const { tensors } = yield* Safetensors.read(path);
    const changed = new Map(tensors);
    change(changed);
    yield* Safetensors.write(path, changed);
  });

describe("a folder saved by transformers", () => {
  it.effect("reads with its sizes, ids and every tensor's values", () =>
    Effect.gen(function* () {
      const { config, tokens, format } = yield* readCheckpoint(folder);
      expect(config).toEqual({
        family: "qwen2",
        vocabSize: 40,
        hiddenSize: 32,
        intermediateSize: 40,
        layers: 2,
        heads: 4,
        kvHeads: 2,
        headDim: 8,
        rmsNormEps: 1e-6,
        ropeTheta: 50000,
        ropeScaling: { type: "default" },
        maxPositions: 64,
        biases: { qkv: true, output: false, mlp: false },
        queryKeyNorm: false,
        tieEmbedding: true,
      });
      expect(tokens).toEqual({ bos: undefined, eos: [1, 2], pad: 0 });
      expect(format).toBe("BF16");
    }),
  );

  it.effect.each([
    [
      "decoders/llama",
      {
        family: "llama",
        maxPositions: 131072,
        ropeTheta: 50,
        ropeScaling: {
          type: "llama3",
          factor: 8,
          lowFrequencyFactor: 1,
          highFrequencyFactor: 4,
          originalMaxPositions: 32,
        },
        rmsNormEps: 1e-5,
        biases: { qkv: false, output: false, mlp: false },
        tieEmbedding: true,
      },
    ],
    [
      "decoders/untied",
      {
        family: "llama",
        ropeScaling: { type: "linear", factor: 2 },
        biases: { qkv: true, output: true, mlp: true },
        queryKeyNorm: false,
        tieEmbedding: false,
      },
    ],
    [
      "decoders/qwen3",
      { family: "qwen3", headDim: 12, queryKeyNorm: true, biases: { qkv: false, output: false, mlp: false } },
    ],
  ] as const)("in %s has what its family differs in", ([fixture, expected]) =>
    Effect.gen(function* () {
      yield* Effect.promise(() => copyOf(join(fixtures, fixture)));
      expect((yield* readCheckpoint(folder)).config).toMatchObject(expected);
    }),
  );

  it.effect.each(folders)("of %s reads with every tensor's values", ([, { path, reference }]) =>
    Effect.gen(function* () {
      yield* Effect.promise(() => copyOf(path));
      const { parameters } = yield* readCheckpoint(folder);
      expect(parameters.specs.map(({ name }) => name).sort()).toEqual(Object.keys(reference.parameters).sort());
      for (const [name, { first, sum }] of Object.entries(reference.parameters)) {
        const values = tensorOf(parameters, name) ?? new Float32Array();
        expect([name, ...values.slice(0, 4)]).toEqual([name, ...first]);
        expect(values.reduce((total, value) => total + value, 0)).toBeCloseTo(sum, 9);
      }
    }),
  );

  it.effect("ends where generation_config.json says, else where config.json does", () =>
    Effect.gen(function* () {
      yield* editConfig({ eos_token_id: 7 });
      expect((yield* readCheckpoint(folder)).tokens.eos).toEqual([1, 2]);
      yield* Effect.promise(() => rm(join(folder, "generation_config.json")));
      expect((yield* readCheckpoint(folder)).tokens.eos).toEqual([7]);
    }),
  );

  it.effect("may spell rope_theta at the top, as transformers 4 does", () =>
    Effect.gen(function* () {
      yield* editConfig({ rope_parameters: undefined, rope_theta: 1e6 });
      expect((yield* readCheckpoint(folder)).config.ropeTheta).toBe(1e6);
    }),
  );

  it.effect(
    "may scale its positions by rope_scaling, as transformers 4 does, and does so again when it is written",
    () =>
      Effect.gen(function* () {
        yield* Effect.promise(() => copyOf(join(fixtures, "decoders/llama")));
        const { rope_parameters } = yield* Effect.promise(() => readJson(join(folder, "config.json")));
        const { rope_theta, ...rope_scaling } = rope_parameters as Record<string, unknown>;
        const original = yield* readCheckpoint(folder);
        yield* editConfig({ rope_parameters: undefined, rope_theta, rope_scaling });
        const spelled = yield* readCheckpoint(folder);
        expect(spelled.config).toEqual(original.config);
        const copy = join(root, "copy");
        yield* writeCheckpoint(copy, spelled);
        const written = yield* Effect.promise(() => readJson(join(copy, "config.json")));
        expect(written).toMatchObject({ rope_theta, rope_scaling });
        expect(written).not.toHaveProperty("rope_parameters");
      }),
  );

  it.effect(
    "takes keys that are absent as transformers does: as many key heads as heads, an output matrix of its own",
    () =>
      Effect.gen(function* () {
        yield* editConfig({ num_key_value_heads: undefined, tie_word_embeddings: undefined });
        const { config } = yield* readModelConfig(folder);
        expect(config).toMatchObject({ heads: 4, kvHeads: 4, tieEmbedding: false });
      }),
  );

  it.effect("may hold the tied output matrix a second time", () =>
    Effect.gen(function* () {
      yield* editTensors((tensors) => tensors.set("lm_head.weight", { shape: [1], data: new Float32Array(1) }));
      expect((yield* readCheckpoint(folder)).parameters.specs).toHaveLength(26);
    }),
  );

  it.effect.each(folders)("of %s comes back the same after being written, in each number format", ([, { path }]) =>
    Effect.gen(function* () {
      yield* Effect.promise(() => copyOf(path));
      const source = yield* Effect.promise(() => readJson(join(folder, "config.json")));
      const original = yield* readCheckpoint(folder);
      for (const [format, dtype] of [
        ["F32", "float32"],
        ["BF16", "bfloat16"],
        ["F16", "float16"],
      ] as const) {
        const copy = join(root, format);
        yield* writeCheckpoint(copy, { ...original, format });
        const again = yield* readCheckpoint(copy);
        expect(again).toMatchObject({ config: original.config, tokens: original.tokens, format });
        expect(again.tokenizer).toEqual(original.tokenizer);
        expect(again.parameters.specs).toEqual(original.parameters.specs);
        expect(again.parameters.flat).toEqual(original.parameters.flat.map((value) => round(format, value)));
        expect(yield* Effect.promise(() => readJson(join(copy, "config.json")))).toMatchObject({ ...source, dtype });
        expect(yield* Effect.promise(() => readdir(copy))).toHaveLength(5);
      }
    }),
  );
});

describe("a folder this program cannot train", () => {
  const configs: readonly (readonly [string, Record<string, unknown>, string, string])[] = [
    [
      "another architecture",
      { architectures: ["Qwen3MoeForCausalLM"] },
      "unsupported",
      'architectures is "Qwen3MoeForCausalLM"; supported is LlamaForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM',
    ],
    [
      "another model type alone",
      { architectures: null, model_type: "gpt2" },
      "unsupported",
      'model_type is "gpt2"; supported is LlamaForCausalLM',
    ],
    [
      "a model type that is not the architecture's",
      { model_type: "mistral" },
      "unsupported",
      'model_type is "mistral"; supported is "qwen2"',
    ],
    [
      "quantised weights",
      { quantization_config: { quant_method: "gptq" } },
      "unsupported",
      'quantization_config is {"quant_method":"gptq"}; supported is weights in F32, F16 or BF16',
    ],
    [
      "a sliding window",
      { use_sliding_window: true },
      "unsupported",
      "use_sliding_window is true; supported is full attention",
    ],
    [
      "a sliding window in some layers",
      { layer_types: ["full_attention", "sliding_attention"] },
      "unsupported",
      'layer_types is "sliding_attention"; supported is "full_attention" in every layer',
    ],
    [
      "scaled rotary positions of another kind",
      { rope_scaling: { type: "yarn", factor: 4 }, rope_parameters: null, rope_theta: 1 },
      "unsupported",
      'rope_scaling.rope_type is "yarn"; supported is "default", "linear", "llama3"',
    ],
    [
      "rotary positions over a part of the head",
      { partial_rotary_factor: 0.5 },
      "unsupported",
      "partial_rotary_factor is 0.5; supported is 1",
    ],
    ["another activation", { hidden_act: "gelu" }, "unsupported", 'hidden_act is "gelu"; supported is "silu"'],
    [
      "a stretch without its factor",
      { rope_parameters: { rope_type: "linear", rope_theta: 1e4 } },
      "bad_config",
      'rope_parameters.factor is absent; rotary positions of type "linear" need it',
    ],
    [
      "a stretch whose bounds are the wrong way round",
      {
        rope_parameters: {
          rope_type: "llama3",
          rope_theta: 1e4,
          factor: 8,
          low_freq_factor: 4,
          high_freq_factor: 1,
          original_max_position_embeddings: 32,
        },
      },
      "bad_config",
      "rope_parameters.high_freq_factor 1 is not above low_freq_factor 4",
    ],
    [
      "an output matrix of its own that is not there",
      { tie_word_embeddings: false },
      "missing_tensor",
      'it lacks "lm_head.weight"',
    ],
    ["a size missing", { intermediate_size: undefined }, "bad_config", "intermediate_size"],
    ["a size that is no number", { hidden_size: "32" }, "bad_config", "hidden_size"],
    ["heads that do not divide", { num_key_value_heads: 3 }, "bad_config", "num_key_value_heads 3"],
    [
      "heads that do not fit the width",
      { num_attention_heads: 6, num_key_value_heads: 2 },
      "bad_config",
      "hidden_size 32",
    ],
    ["no rotary base", { rope_parameters: undefined }, "bad_config", "rope_theta"],
    ["a million layers", { num_hidden_layers: 1_000_000 }, "bad_config", "num_hidden_layers"],
    ["a width beyond any model's", { hidden_size: 2 ** 40 }, "bad_config", "hidden_size"],
    ["an emptied vocabulary", { vocab_size: 0 }, "bad_config", "vocab_size"],
    ["a vocabulary beyond any model's", { vocab_size: 1e15 }, "bad_config", "vocab_size"],
    ["positions beyond any model's", { max_position_embeddings: 2 ** 50 }, "bad_config", "max_position_embeddings"],
    ["sizes that are not the file's", { intermediate_size: 25 }, "wrong_shape", "mlp.gate_proj.weight"],
    [
      "more layers than the file",
      { num_hidden_layers: 3 },
      "missing_tensor",
      '"model.layers.2.input_layernorm.weight"',
    ],
    ["fewer layers than the file", { num_hidden_layers: 1 }, "unexpected_tensor", '"model.layers.1.'],
  ];
  it.effect.each(configs)("for %s is refused by name", ([, change, reason, words]) =>
    Effect.gen(function* () {
      yield* editConfig(change);
      const error = yield* Effect.flip(readCheckpoint(folder));
      expect(error.reason).toBe(reason);
      expect(error.message).toContain(folder);
      expect(error.message).toContain(words);
      expect(error.message).not.toContain("\n");
    }),
  );

  it.effect("of a JSON file beyond any tokenizer's size is refused before it is read", () =>
    Effect.gen(function* () {
      const path = join(folder, "tokenizer.json");
      yield* Effect.promise(() => truncate(path, 2 ** 40));
      const { message } = yield* Effect.flip(readCheckpoint(folder));
      expect(message).toBe(`${path}: it has ${2 ** 40} bytes, at most ${2 ** 28} are read`);
    }),
  );

  it.effect.each(["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"])(
    "for want of %s is refused by that file's name",
    (file) =>
      Effect.gen(function* () {
        yield* Effect.promise(() => rm(join(folder, file)));
        const error = yield* Effect.flip(readCheckpoint(folder));
        expect([error.reason, error.path]).toEqual(["missing_file", join(folder, file)]);
      }),
  );

  it.effect("because there is none is refused by its name", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(readCheckpoint(join(root, "nowhere")));
      expect(error.message).toBe(`${join(root, "nowhere")}: no such folder`);
    }),
  );

  it.effect.each([
    ["pytorch_model.bin", "pickled"],
    ["pytorch_model.bin.index.json", "pickled"],
    ["adapter_model.safetensors", "adapter"],
  ] as const)("because its weights are in %s is told so", ([file, words]) =>
    Effect.gen(function* () {
      yield* Effect.promise(() => rm(join(folder, "model.safetensors")));
      yield* Effect.promise(() => writeFile(join(folder, file), "{}"));
      const error = yield* Effect.flip(readCheckpoint(folder));
      expect([error.reason, error.path]).toEqual(["unsupported", join(folder, file)]);
      expect(error.message).toContain(words);
    }),
  );

  it.effect("says so before its weights are looked for", () =>
    Effect.gen(function* () {
      yield* editConfig({ use_sliding_window: true });
      yield* Effect.promise(() => rm(join(folder, "model.safetensors")));
      expect((yield* Effect.flip(readCheckpoint(folder))).message).toContain("use_sliding_window");
    }),
  );

  it.effect("because config.json is cut short is refused", () =>
    Effect.gen(function* () {
      yield* Effect.promise(() => writeFile(join(folder, "config.json"), '{"model_type": "qw'));
      const error = yield* Effect.flip(readCheckpoint(folder));
      expect([error.reason, error.path]).toEqual(["bad_config", join(folder, "config.json")]);
    }),
  );
});

describe("a folder in shards", () => {
  const index = "model.safetensors.index.json";
  const [first, second, third] = [1, 2, 3].map((shard) => `model-0000${shard}-of-00003.safetensors`) as [
    string,
    string,
    string,
  ];
  beforeEach(() => copyOf(join(fixtures, "decoders/untied")));

  const editIndex = (change: (weightMap: Record<string, string>) => void) =>
    Effect.promise(async () => {
      const { weight_map } = await readJson(join(folder, index));
      const map = { ...(weight_map as Record<string, string>) };
      change(map);
      await writeFile(join(folder, index), JSON.stringify({ weight_map: map }));
    });
  const refusal = Effect.map(
    Effect.flip(Effect.suspend(() => readCheckpoint(folder))),
    ({ message, path, reason }) => ({
      reason,
      path,
      message,
    }),
  );

  it.effect("of which one is missing is refused by that shard's name", () =>
    Effect.gen(function* () {
      const path = join(folder, second);
      yield* Effect.promise(() => rm(path));
      const refused = yield* refusal;
      expect(refused).toMatchObject({ reason: "missing_file", path });
      expect(refused.message).toContain("this shard is missing; the index says it holds");
    }),
  );

  it.effect("of which none holds a tensor is refused by the tensor's name", () =>
    Effect.gen(function* () {
      yield* editIndex((map) => {
        for (const [name, shard] of Object.entries(map)) if (shard === first) delete map[name];
      });
      const refused = yield* refusal;
      expect(refused).toMatchObject({ reason: "missing_tensor", path: join(folder, index) });
      expect(refused.message).toContain('it lacks "model');
    }),
  );

  it.effect("of which one lacks what the index says of it is refused by the tensor's name", () =>
    Effect.gen(function* () {
      yield* editIndex((map) => {
        map["model.layers.0.lost.weight"] = second;
      });
      const refused = yield* refusal;
      expect(refused.reason).toBe("missing_tensor");
      expect(refused.message).toContain(
        `${second}: it lacks "model.layers.0.lost.weight", which the index says it holds`,
      );
    }),
  );

  it.effect("of which two hold one tensor is refused by its name and the other's", () =>
    Effect.gen(function* () {
      const path = join(folder, first);
      const { tensors } = yield* Safetensors.read(path);
      const twice = new Map(tensors).set("lm_head.weight", { shape: [1], data: new Float32Array(1) });
      yield* Safetensors.write(path, twice);
      const refused = yield* refusal;
      expect(refused).toMatchObject({ reason: "unexpected_tensor", path });
      expect(refused.message).toContain(`it holds "lm_head.weight", which the index says is in ${third}`);
    }),
  );

  it.effect("that are not beside the index is refused", () =>
    Effect.gen(function* () {
      yield* editIndex((map) => {
        map["model.norm.weight"] = "../elsewhere.safetensors";
      });
      const refused = yield* refusal;
      expect(refused).toMatchObject({ reason: "bad_config", path: join(folder, index) });
      expect(refused.message).toContain('"../elsewhere.safetensors" is no safetensors file beside it');
    }),
  );

  it.effect("whose index is none is refused", () =>
    Effect.gen(function* () {
      yield* Effect.promise(() => writeFile(join(folder, index), "{}"));
      expect(yield* refusal).toMatchObject({ reason: "bad_config", path: join(folder, index) });
    }),
  );
});

describe("a critic's file", () => {
  it.effect("holds the trunk and the value head, and is no model's file", () =>
    Effect.gen(function* () {
      const { config, parameters } = yield* readCheckpoint(folder);
      const specs = criticParameters(config);
      const critic = parametersOf(specs);
      critic.flat.set(parameters.flat);
      critic.flat[critic.flat.length - 1] = 0.125;
      const path = join(folder, "critic.safetensors");
      yield* writeParameters(path, critic);
      const again = yield* readParameters(path, specs);
      expect(again.parameters.flat).toEqual(critic.flat);
      expect(tensorOf(again.parameters, "value_head.bias")).toEqual(Float32Array.of(0.125));
      const error = yield* Effect.flip(readParameters(path, specsOf(config)));
      expect(error.message).toContain('"value_head.weight", "value_head.bias"');
    }),
  );
});

describe("a folder being replaced", () => {
  it.effect("is the new one after success and the old one after a failure, with nothing left beside it", () =>
    Effect.gen(function* () {
      const path = join(root, "replaced", "step-1");
      const put = (text: string) => (partial: string) => Effect.promise(() => writeFile(join(partial, "file"), text));
      yield* replaceFolder(path, put("first"));
      yield* replaceFolder(path, put("second"));
      const failing = (partial: string) =>
        Effect.andThen(put("third")(partial), Effect.fail(checkpointError(partial, "not_readable", "disk full")));
      const error = yield* Effect.flip(replaceFolder(path, failing));
      expect(error.message).toContain("disk full");
      expect(yield* Effect.promise(() => readFile(join(path, "file"), "utf8"))).toBe("second");
      expect(yield* Effect.promise(() => readdir(join(root, "replaced")))).toEqual(["step-1"]);
    }),
  );
});
