/** Regular expressions of a tokenizer.json that a stranger wrote: they are ended at a limit, at the start and later. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Effect } from "effect";
import { describe, expect, it } from "vitest";
import { CheckpointError } from "../../../src/model/checkpoint/CheckpointError.ts";
import type { JsonObject } from "../../../src/model/checkpoint/TokenizerFiles.ts";
import { foreignPatterns, type PatternLimits } from "../../../src/model/tokenizer/ForeignPatterns.ts";
import { nanoTokenizer } from "../../../src/model/tokenizer/NanoVocabulary.ts";
import { make, type Tokenizer } from "../../../src/model/tokenizer/Tokenizer.ts";

const limits: PatternLimits = { ms: 200, characters: 1_000 };

const split = (regex: string): JsonObject => ({
  type: "Split",
  pattern: { Regex: regex },
  behavior: "Isolated",
  invert: false,
});

/** A byte-level tokenizer of three letters. */
const tiny = (parts: JsonObject): JsonObject => ({
  model: { type: "BPE", vocab: { a: 0, b: 1, c: 2 }, merges: [] },
  decoder: { type: "ByteLevel" },
  added_tokens: [],
  ...parts,
});

const opened = (parts: JsonObject): Effect.Effect<Tokenizer, CheckpointError> =>
  make({ tokenizerJson: tiny(parts), tokenizerConfig: {} }, { path: "models/strange", limits });

const refusal = (parts: JsonObject): string => Effect.runSync(Effect.flip(opened(parts))).message;

/** Tries every way to cut a run of letters, where something else follows. */
const catastrophic = "(\\p{L}+)*$";

describe("a regular expression that hangs", () => {
  it.for([
    ["a pre-tokenizer", { pre_tokenizer: split(catastrophic) }],
    ["one of several pre-tokenizers", { pre_tokenizer: { type: "Sequence", pretokenizers: [split(catastrophic)] } }],
    ["a normalizer", { normalizer: { type: "Replace", pattern: { Regex: catastrophic }, content: "a" } }],
  ] as const)("is refused at the start with the folder, the file and the limit, as %s", ([, parts]) => {
    expect(refusal(parts)).toBe(
      'models/strange: the regular expression "(\\\\p{L}+)*$" of its tokenizer.json takes longer than 0.2 s for one text',
    );
  });

  it("on texts that no start tries is ended where it meets one", () => {
    const tokenizer = Effect.runSync(opened({ pre_tokenizer: split("(b+)*c|a") }));
    expect([...tokenizer.encode("aaa")]).toEqual([0, 0, 0]);
    const meet = () => tokenizer.encode("b".repeat(2_000));
    expect(meet).toThrow(CheckpointError);
    expect(meet).toThrow("takes longer than 0.2 s for one text");
    // It goes on afterwards as before.
    expect([...tokenizer.encode("abc")]).toEqual([0, 1, 2]);
  });
});

describe("a regular expression", () => {
  it("longer than it may be is refused before it is read", () => {
    const text = refusal({ pre_tokenizer: split(`(${"a".repeat(1_000)})`) });
    expect(text).toMatch(
      /^models\/strange: the regular expression "\(a{79}…" of its tokenizer\.json has more than 1000 /,
    );
  });

  it("of no known family splits as it says", () => {
    const tokenizer = Effect.runSync(opened({ pre_tokenizer: split("[ab]+|c") }));
    expect([...tokenizer.encode("abcab")]).toEqual([0, 1, 2, 0, 1]);
    expect(tokenizer.decode([0, 1, 2])).toBe("abc");
  });
});

describe("the expressions of a file that are of no known family", () => {
  const fixtures = fileURLToPath(new URL("../../fixtures/chat-templates", import.meta.url));

  it.each(readdirSync(fixtures).filter((name) => !name.includes(".") || name === "qwen2.5"))(
    "are none in the family %s",
    (family) => {
      expect(foreignPatterns(JSON.parse(readFileSync(join(fixtures, family, "tokenizer.json"), "utf8")))).toEqual([]);
    },
  );

  it("are none in the nano tokenizer, whose expression is words", () => {
    expect(foreignPatterns(nanoTokenizer().tokenizerJson)).toEqual([]);
  });

  it("are those with anything more than words, wherever they stand", () => {
    const decoder = { type: "Sequence", decoders: [{ type: "Replace", pattern: { Regex: "(d*)*" }, content: "" }] };
    const pretokenizers = [split("one|two\\.|three"), split("a*"), split("a*"), split("\\d")];
    expect(foreignPatterns({ decoder, pre_tokenizer: { type: "Sequence", pretokenizers } })).toEqual([
      "a*",
      "\\d",
      "(d*)*",
    ]);
  });
});
