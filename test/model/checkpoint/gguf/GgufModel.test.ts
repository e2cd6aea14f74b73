/** The model of a GGUF file: test/fixtures/gguf/generate.py wrote a file with every tensor type, and what gguf's own Python makes of it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Result } from "effect";
import { afterAll, describe, expect, it } from "vitest";
import { readGguf } from "../../../../src/model/checkpoint/gguf/GgufModel.ts";
import type { Checkpoint } from "../../../../src/model/checkpoint/HuggingFaceFolder.ts";
import { tensorOf } from "../../../../src/model/graphs/Parameters.ts";
import * as Tokenizer from "../../../../src/model/tokenizer/Tokenizer.ts";

const fixtures = join(import.meta.dirname, "../../../fixtures/gguf");
const tiny = join(fixtures, "tiny.gguf");
const bytes = readFileSync(tiny);
const golden = JSON.parse(readFileSync(join(fixtures, "golden.json"), "utf8"));
const folder = mkdtempSync(join(tmpdir(), "gguf-"));
afterAll(() => rmSync(folder, { recursive: true }));

const checkpoint = await Effect.runPromise(readGguf(tiny));

const valuesOf = ({ parameters }: Checkpoint, name: string): Float32Array => {
  const values = tensorOf(parameters, name);
  if (values === undefined) throw new Error(`there is no ${name}`);
  return Float32Array.from(values);
};
const sum = (values: Float32Array) => values.reduce((total, value) => total + value, 0);

/** The message that refuses a file with these bytes, or "accepted". */
const refusalOf = async (contents: Uint8Array): Promise<string> => {
  const path = join(folder, "file.gguf");
  writeFileSync(path, contents);
  const result = await Effect.runPromise(Effect.result(readGguf(path)));
  return Result.isFailure(result) ? result.failure.message.replace(`${path}: `, "") : "accepted";
};

/** The bytes with the first occurrence of a text replaced by one as long, or with what `change` does behind it. */
const behind = (text: string, change: (view: DataView, at: number) => void): Uint8Array => {
  const copy = Uint8Array.from(bytes);
  change(new DataView(copy.buffer), bytes.indexOf(text) + text.length);
  return copy;
};

/** Behind a matrix's name stand the count of dimensions, two sizes, the type and the offset. */
const [size, type, offset] = [4, 20, 24];

describe("a GGUF file", () => {
  it.each([
    ["F32", "output_norm.weight", "model.norm.weight"],
    ["F16", "blk.0.ffn_up.weight", "model.layers.0.mlp.up_proj.weight"],
    ["Q8_0", "token_embd.weight", "model.embed_tokens.weight"],
    ["Q4_1", "blk.0.attn_output.weight", "model.layers.0.self_attn.o_proj.weight"],
  ])("has its %s tensors bit for bit", (_, name, ours) => {
    const values = valuesOf(checkpoint, ours);
    expect([...values.subarray(0, golden[name].first.length)]).toEqual(golden[name].first);
    expect(sum(values)).toBeCloseTo(golden[name].sum, 9);
  });

  it("has its rows of queries in the order of Hugging Face", () => {
    const values = valuesOf(checkpoint, "model.layers.0.self_attn.q_proj.weight");
    const { first, sum: total } = golden["blk.0.attn_q.weight"];
    expect([...values.subarray(0, 32)]).toEqual(first.slice(0, 32));
    const second = golden.query_rows.indexOf(1);
    expect(second).toBe(4);
    expect([...values.subarray(32 * second, 32 * second + 8)]).toEqual(first.slice(32, 40));
    expect(sum(values)).toBeCloseTo(total, 9);
  });

  it("has a tokenizer that merges, cuts digits and knows the special tokens", async () => {
    const tokenizer = await Effect.runPromise(Tokenizer.make(checkpoint.tokenizer));
    const ids = tokenizer.encode("hello 12<|im_end|>");
    const vocabulary: Readonly<Record<string, number>> = Object(checkpoint.tokenizer.tokenizerJson.model).vocab;
    const tokens = new Map(Object.entries(vocabulary).map(([token, id]) => [id, token]));
    expect([...ids].map((id) => tokens.get(id))).toEqual(["hell", "o", "Ġ", "1", "2", "<|im_end|>"]);
    expect(checkpoint.tokens).toEqual({ bos: 1, eos: [2], pad: 2 });
  });

  it.each([
    ["another magic number", () => Uint8Array.from(bytes).fill(65, 0, 4), /magic number/],
    ["a header that is cut", () => bytes.subarray(0, 300), /^it ends within its header$/],
    ["values that are cut", () => bytes.subarray(0, -40), /^tensor "output_norm.weight" ends at byte \d+, the file/],
    [
      "another architecture",
      () => behind("general.architecture", (view, at) => view.setUint8(at + 12, 77)),
      /^general.architecture is "Mlama"; supported is "llama"$/,
    ],
    [
      "another tensor type",
      () => behind("blk.0.attn_q.weight", (view, at) => view.setUint32(at + type, 12, true)),
      /^tensor "blk.0.attn_q.weight" is of type Q4_K; supported are F32, F16, Q4_1, Q8_0$/,
    ],
    [
      "a size that no file holds",
      () => behind("blk.0.attn_q.weight", (view, at) => view.setBigUint64(at + size, 2n ** 40n, true)),
      /blk.0.attn_q.weight/,
    ],
    [
      "a size that does not fit",
      () => behind("blk.0.attn_q.weight", (view, at) => view.setBigUint64(at + size + 8, 16n, true)),
      /has shape \[16, 32\], and its sizes ask for \[32, 32\]$/,
    ],
    [
      "an offset behind the end",
      () => behind("blk.0.attn_q.weight", (view, at) => view.setBigUint64(at + offset, 2n ** 60n, true)),
      /ends at byte/,
    ],
  ])("is refused with %s", async (_, make, message) => {
    expect(await refusalOf(make())).toMatch(message);
  });
});
