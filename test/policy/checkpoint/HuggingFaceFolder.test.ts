import { cp, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { replaceFolder } from "../../../src/files/AtomicWrite.ts";
import { checkpointError } from "../../../src/policy/checkpoint/CheckpointError.ts";
import { round } from "../../../src/policy/checkpoint/FloatFormat.ts";
import { readCheckpoint, writeCheckpoint } from "../../../src/policy/checkpoint/HuggingFaceFolder.ts";
import { readParameters, writeParameters } from "../../../src/policy/checkpoint/ParameterFile.ts";
import * as Safetensors from "../../../src/policy/checkpoint/Safetensors.ts";
import { criticParameters, parameters as specsOf } from "../../../src/policy/model/Architecture.ts";
import { parametersOf, tensorOf } from "../../../src/policy/model/Parameters.ts";
import reference from "../../fixtures/qwen2-tiny/reference.json" with { type: "json" };

const fixtures = fileURLToPath(new URL("../../fixtures", import.meta.url));
let root: string;
let folder: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "millrace-folder-"));
  folder = join(root, "model");
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** A folder as transformers saves it, fresh for each test. */
beforeEach(async () => {
  await rm(folder, { recursive: true, force: true });
  for (const file of ["config.json", "generation_config.json", "model.safetensors"]) {
    await cp(join(fixtures, "qwen2-tiny", file), join(folder, file));
  }
  for (const file of ["tokenizer.json", "tokenizer_config.json"]) {
    await cp(join(fixtures, "qwen2-tokenizer", file), join(folder, file));
  }
});

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
      const { config, tokens, parameters, format } = yield* readCheckpoint(folder);
      expect(config).toEqual({
        vocabSize: 40,
        hiddenSize: 32,
        intermediateSize: 40,
        layers: 2,
        heads: 4,
        kvHeads: 2,
        headDim: 8,
        rmsNormEps: 1e-6,
        ropeTheta: 50000,
        maxPositions: 64,
        tieEmbedding: true,
      });
      expect(tokens).toEqual({ bos: undefined, eos: [1, 2], pad: 0 });
      expect(format).toBe("BF16");
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

  it.effect("may hold the tied output matrix a second time", () =>
    Effect.gen(function* () {
      yield* editTensors((tensors) => tensors.set("lm_head.weight", { shape: [1], data: new Float32Array(1) }));
      expect((yield* readCheckpoint(folder)).parameters.specs).toHaveLength(26);
    }),
  );

  it.effect("comes back the same after being written, in each number format", () =>
    Effect.gen(function* () {
      const original = yield* readCheckpoint(folder);
      for (const format of ["F32", "BF16", "F16"] as const) {
        const copy = join(root, format);
        yield* writeCheckpoint(copy, { ...original, format });
        const again = yield* readCheckpoint(copy);
        expect(again).toMatchObject({ config: original.config, tokens: original.tokens, format });
        expect(again.tokenizer).toEqual(original.tokenizer);
        expect(again.parameters.flat).toEqual(original.parameters.flat.map((value) => round(format, value)));
        expect(yield* Effect.promise(() => readdir(copy))).toHaveLength(5);
      }
    }),
  );
});

describe("a folder this program cannot train", () => {
  const configs: readonly (readonly [string, Record<string, unknown>, string, string])[] = [
    [
      "another architecture",
      { architectures: ["LlamaForCausalLM"] },
      "unsupported",
      "LlamaForCausalLM; supported is Qwen2",
    ],
    ["another model type alone", { architectures: null, model_type: "gpt2" }, "unsupported", "model_type gpt2"],
    ["an output matrix of its own", { tie_word_embeddings: false }, "unsupported", "tie_word_embeddings"],
    ["a sliding window", { use_sliding_window: true }, "unsupported", "sliding window"],
    [
      "scaled rotary positions",
      { rope_scaling: { type: "yarn", factor: 4 }, rope_parameters: null, rope_theta: 1 },
      "unsupported",
      '"yarn"',
    ],
    ["another activation", { hidden_act: "gelu" }, "unsupported", '"gelu"'],
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
    ["model.safetensors.index.json", "several files"],
    ["pytorch_model.bin", "pickled"],
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

  it.effect("because config.json is cut short is refused", () =>
    Effect.gen(function* () {
      yield* Effect.promise(() => writeFile(join(folder, "config.json"), '{"model_type": "qw'));
      const error = yield* Effect.flip(readCheckpoint(folder));
      expect([error.reason, error.path]).toEqual(["bad_config", join(folder, "config.json")]);
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
