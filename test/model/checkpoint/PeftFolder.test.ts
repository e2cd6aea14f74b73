import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { readCheckpoint, readModelConfig } from "../../../src/model/checkpoint/HuggingFaceFolder.ts";
import { readAdapter, readBase, writeAdapter } from "../../../src/model/checkpoint/PeftFolder.ts";
import { read } from "../../../src/model/checkpoint/Safetensors.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

const fixture = (name: string) => join(import.meta.dirname, "../../fixtures", name);
const base = Effect.map(readModelConfig(fixture("qwen2-tiny")), ({ config }) => config);

/** A copy of peft's folder with keys of its config changed. */
const changed = Effect.fnUntraced(function* (keys: Readonly<Record<string, unknown>>) {
  const folder = yield* temporaryFolder;
  yield* Effect.promise(async () => {
    await cp(fixture("lora-tiny"), folder, { recursive: true });
    const path = join(folder, "adapter_config.json");
    const json: object = JSON.parse(await readFile(path, "utf8"));
    await writeFile(path, JSON.stringify({ ...json, ...keys }));
  });
  return folder;
});
const refusal = Effect.fnUntraced(function* (keys: Readonly<Record<string, unknown>>) {
  const { message } = yield* Effect.flip(readAdapter(yield* changed(keys), yield* base));
  return message;
});

describe("a PEFT folder", () => {
  it.effect("is written as peft writes it: the same names, shapes and bits", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      yield* writeAdapter(folder, yield* readAdapter(fixture("lora-tiny"), yield* base));
      const [ours, theirs] = [
        yield* read(join(folder, "adapter_model.safetensors")),
        yield* read(join(fixture("lora-tiny"), "adapter_model.safetensors")),
      ];
      expect(new Set(ours.tensors.keys())).toEqual(new Set(theirs.tensors.keys()));
      for (const [name, tensor] of theirs.tensors) expect(ours.tensors.get(name)).toEqual(tensor);
      const config: unknown = JSON.parse(
        yield* Effect.promise(() => readFile(join(folder, "adapter_config.json"), "utf8")),
      );
      expect(config).toMatchObject({
        peft_type: "LORA",
        task_type: "CAUSAL_LM",
        r: 4,
        lora_alpha: 6,
        base_model_name_or_path: "test/fixtures/qwen2-tiny",
      });
      expect(yield* readBase(folder)).toBe("test/fixtures/qwen2-tiny");
    }),
  );

  it.effect("is refused by name where it is more than LoRA of linear layers", () =>
    Effect.gen(function* () {
      expect(yield* refusal({ use_dora: true })).toContain("adapter_config.json: use_dora is true; supported is false");
      expect(yield* refusal({ peft_type: "IA3" })).toContain('peft_type is "IA3"; supported is "LORA"');
      expect(yield* refusal({ rank_pattern: { q_proj: 8 } })).toContain("rank_pattern is");
      expect(yield* refusal({ r: 0 })).toContain("adapter_config.json");
    }),
  );

  it.effect("is refused where its tensors are not those of its rank and base", () =>
    Effect.gen(function* () {
      const other = yield* refusal({ r: 8 });
      expect(other).toContain("adapter_model.safetensors: tensor");
      expect(other).toContain("is model.path its base (test/fixtures/qwen2-tiny)?");
      const wider = { ...(yield* base), hiddenSize: 64 };
      const { message } = yield* Effect.flip(readAdapter(fixture("lora-tiny"), wider));
      expect(message).toContain("the config asks for [4, 64]; is model.path its base");
      const deeper = { ...(yield* base), layers: 3 };
      expect((yield* Effect.flip(readAdapter(fixture("lora-tiny"), deeper))).message).toContain("it lacks");
    }),
  );

  it.effect("given as a model says what to do", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(readCheckpoint(fixture("lora-tiny")));
      expect(message).toContain("name its base model as model.path and this folder as model.adapter");
    }),
  );
});
