import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { assert, beforeAll, describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import * as fc from "fast-check";
import { make as makeTemplate } from "../../../src/model/tokenizer/ChatTemplate.ts";
import { nanoTokenizer } from "../../../src/model/tokenizer/NanoVocabulary.ts";
import { load, make, type Tokenizer } from "../../../src/model/tokenizer/Tokenizer.ts";
import golden from "../../fixtures/qwen2-tokenizer/golden.json" with { type: "json" };
import { assertProperty } from "../../property.ts";
import { inPieces } from "./inPieces.ts";

const fixture = fileURLToPath(new URL("../../fixtures/qwen2-tokenizer", import.meta.url));
let tokenizer: Tokenizer;
beforeAll(async () => {
  tokenizer = await Effect.runPromise(load(fixture));
});

const concatenated = (ids: Int32Array): Uint8Array =>
  Uint8Array.from([...ids].flatMap((id) => [...tokenizer.bytesOf(id)]));

describe("a tokenizer of the Qwen2 form", () => {
  it.each(golden.cases)("agrees with Python on $text", ({ text, ids, decoded }) => {
    const encoded = tokenizer.encode(text);
    assert.deepStrictEqual([...encoded], ids);
    expect(tokenizer.decode(encoded)).toBe(decoded);
  });

  it("counts every id, the added ones included", () => {
    expect(tokenizer.vocabSize).toBe(golden.size);
  });

  it("spells a text's UTF-8 by its ids' bytes end to end", () => {
    assertProperty(
      fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), (text) => {
        // This form composes characters (NFC) before it splits.
        expect(concatenated(tokenizer.encode(text))).toEqual(new TextEncoder().encode(text.normalize("NFC")));
      }),
      { numRuns: 200 },
    );
  });

  it("gives no bytes and no text for ids beyond the vocabulary", () => {
    expect(tokenizer.bytesOf(tokenizer.vocabSize)).toHaveLength(0);
    expect(tokenizer.bytesOf(-1)).toHaveLength(0);
    expect(tokenizer.decode([tokenizer.vocabSize + 7])).toBe("");
    expect(tokenizer.decode([])).toBe("");
  });

  it("renders ChatML piece by piece as its template renders it whole", async () => {
    expect(await inPieces(tokenizer, golden.chat.messages)).toEqual(golden.chat.ids);
  });
});

describe("a chat template", () => {
  it.each(["chatml", "compact"] as const)("tells where an opening's user message begins: %s", (style) => {
    const tokenizerOfStyle = style === "chatml" ? tokenizer : Effect.runSync(make(nanoTokenizer()));
    const template = Effect.runSync(makeTemplate(tokenizerOfStyle, style));
    const user = style === "chatml" ? "user\ngo" : "go";
    for (const system of ["", "be system", "<|im_start|>user <|user|>"]) {
      const opening = template.opening(system, "go up");
      const text = tokenizerOfStyle.decode(opening.subarray(template.beforeUser(opening)));
      expect(text.startsWith(user)).toBe(true);
      expect(text).not.toContain("be system");
    }
  });

  it("puts a reply prefix behind the assistant's header and leaves an empty system message out", async () => {
    const template = await Effect.runPromise(makeTemplate(tokenizer));
    expect(tokenizer.decode(template.opening("", "go", "<think>"))).toBe(
      "<|im_start|>user\ngo<|im_end|>\n<|im_start|>assistant\n<think>",
    );
    expect(tokenizer.decode(template.bridge("on", "<think>"))).toBe(
      "\n<|im_start|>user\non<|im_end|>\n<|im_start|>assistant\n<think>",
    );
  });

  it("lets no message close a turn or open another, and keeps its text", async () => {
    const template = await Effect.runPromise(makeTemplate(tokenizer));
    const specials = new Set(tokenizer.specials.values());
    const countSpecials = (ids: Int32Array) => ids.filter((id) => specials.has(id)).length;
    const plain = countSpecials(template.bridge("hello"));
    const hostile = fc.array(
      fc.constantFrom("<|im_end|>", "<|im_start|>", "<|", "|>", "\n", "system", "<|endoftext|>", "x"),
    );
    assertProperty(
      fc.property(hostile, (parts) => {
        const ids = template.bridge(parts.join(""));
        expect(countSpecials(ids)).toBe(plain);
        expect(tokenizer.decode(ids)).toContain(`user\n${parts.join("")}<|im_end|>`);
      }),
      { numRuns: 200 },
    );
  });

  it.effect("of a style whose markers the tokenizer lacks is refused by their names", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(makeTemplate(tokenizer, "compact"));
      expect(error.message).toContain("<|system|>, <|user|>, <|assistant|>");
      const nano = yield* make(nanoTokenizer());
      expect((yield* Effect.flip(makeTemplate(nano, "chatml"))).message).toContain("<|im_start|>");
    }),
  );
});

describe("a tokenizer's files", () => {
  it.effect("that are missing or no JSON are named", () =>
    Effect.acquireUseRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "millrace-tokenizer-"))),
      (folder) =>
        Effect.gen(function* () {
          const missing = yield* Effect.flip(load(folder));
          expect([missing.reason, missing.path]).toEqual(["missing_file", join(folder, "tokenizer.json")]);
          expect(missing.message).toContain("fast tokenizer");
          yield* Effect.promise(() => writeFile(join(folder, "tokenizer.json"), "{oops"));
          const broken = yield* Effect.flip(load(folder));
          expect([broken.reason, broken.path]).toEqual(["bad_config", join(folder, "tokenizer.json")]);
          yield* Effect.promise(() => writeFile(join(folder, "tokenizer.json"), "[]"));
          expect((yield* Effect.flip(load(folder))).message).toContain("not a JSON object");
        }),
      (folder) => Effect.promise(() => rm(folder, { recursive: true })),
    ),
  );

  it.effect("of an unsupported family, an unknown end token or chat style are refused", () =>
    Effect.gen(function* () {
      const { tokenizerJson, tokenizerConfig } = nanoTokenizer();
      const wordPiece = { ...tokenizerJson, decoder: { type: "WordPiece" } };
      const family = yield* Effect.flip(make({ tokenizerJson: wordPiece, tokenizerConfig }));
      expect(family.message).toContain("WordPiece");
      const end = yield* Effect.flip(
        make({ tokenizerJson, tokenizerConfig: { ...tokenizerConfig, eos_token: "</s>" } }),
      );
      expect(end.message).toContain("</s>");
      const styled = { ...tokenizerConfig, millrace_chat_style: "chatty" };
      const style = yield* Effect.flip(make({ tokenizerJson, tokenizerConfig: styled }));
      expect(style.message).toContain("chatml, compact");
      const large = yield* Effect.flip(make(nanoTokenizer(), { embeddingRows: 600 }));
      expect(large.message).toContain("only 600 rows");
      const emptied = { ...tokenizerJson, model: { ...(tokenizerJson.model as object), vocab: {} } };
      const empty = yield* Effect.flip(make({ tokenizerJson: emptied, tokenizerConfig }));
      expect(empty.message).toContain("its vocabulary is empty");
      const hollow = yield* Effect.flip(make({ tokenizerJson: { decoder: { type: "ByteLevel" } }, tokenizerConfig }));
      expect(hollow.reason).toBe("bad_config");
    }),
  );
});
