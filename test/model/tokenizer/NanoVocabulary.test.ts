import { assert, describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import * as fc from "fast-check";
import { nanoTokenizer } from "../../../src/model/tokenizer/NanoVocabulary.ts";
import { make } from "../../../src/model/tokenizer/Tokenizer.ts";
import golden from "../../fixtures/nano-tokenizer/golden.json" with { type: "json" };
import { assertProperty } from "../../property.ts";
import { inPieces } from "./inPieces.ts";

const tokenizer = Effect.runSync(make(nanoTokenizer()));
const pieces = (text: string): readonly string[] => Array.from(tokenizer.encode(text), (id) => tokenizer.decode([id]));

describe("nano vocabulary", () => {
  it("is the same at every call and has at most 640 entries, ids without holes", () => {
    expect(JSON.stringify(nanoTokenizer())).toBe(JSON.stringify(nanoTokenizer()));
    expect(tokenizer.vocabSize).toBeLessThanOrEqual(640);
    const spelled = Array.from({ length: tokenizer.vocabSize }, (_, id) => tokenizer.bytesOf(id).length);
    expect(spelled.every((length) => length > 0)).toBe(true);
  });

  it.each(golden.cases)("agrees with Python's transformers on $text", ({ text, ids }) => {
    assert.deepStrictEqual([...tokenizer.encode(text)], ids);
  });

  it("has Python's size, end and padding tokens", () => {
    expect([tokenizer.vocabSize, tokenizer.eosId, tokenizer.tokenId("<pad>")]).toEqual([
      golden.size,
      golden.eos,
      golden.pad,
    ]);
  });

  it("gives any text back exactly", () => {
    const word = fc.constantFrom(
      " || ",
      "Up",
      " up",
      "√",
      "\n",
      "<think>",
      "<|im_end|>",
      "<|im",
      " ",
      "#",
      "Teacher",
      "ing",
    );
    const text = fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), word), {
      maxLength: 8,
    });
    assertProperty(
      fc.property(text, (parts) => {
        const whole = parts.join("");
        expect(tokenizer.decode(tokenizer.encode(whole))).toBe(whole);
      }),
      { numRuns: 500 },
    );
  });

  it.each(["#_O√XPS", "W.GCBA@", "P_OGX√"])("spells a grid of %s with one token per cell", (symbols) => {
    const cells = fc.array(fc.constantFrom(...symbols), { minLength: 1, maxLength: 64 });
    assertProperty(
      fc.property(cells, (grid) => {
        expect(pieces(grid.join(""))).toEqual(grid);
      }),
      { numRuns: 300 },
    );
  });

  it("spells a 6x6 Sokoban state in at most 45 tokens", () => {
    expect(pieces("##O__#")).toHaveLength(6);
    const state = "######\n##O__#\n##_X_#\n#√_P_#\n######\n######";
    expect(tokenizer.encode(state).length).toBeLessThanOrEqual(45);
  });

  it("keeps the words of actions, tags and arms whole", () => {
    expect(pieces("<think>push right</think><answer>Right || Up</answer>")).toEqual([
      "<think>",
      "push",
      " right",
      "</think>",
      "<answer>",
      "Right",
      " || ",
      "Up",
      "</answer>",
    ]);
    expect(pieces("StartupAccelerator")).toHaveLength(1);
    expect(pieces(" 7")).toHaveLength(1);
  });

  it("renders a chat piece by piece as its template renders it whole", async () => {
    expect(await inPieces(tokenizer, golden.chat.messages)).toEqual(golden.chat.ids);
  });
});
