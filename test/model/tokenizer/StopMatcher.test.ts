import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as ByteDecoder from "../../../src/model/tokenizer/ByteDecoder.ts";
import * as StopMatcher from "../../../src/model/tokenizer/StopMatcher.ts";
import { assertProperty } from "../../property.ts";

const utf8 = new TextEncoder();

/** A matcher over a vocabulary given as texts, and how many tokens it takes until a stop (or undefined). */
const stopsAfter = (stops: readonly string[], tokens: readonly Uint8Array[]): number | undefined => {
  const matcher = StopMatcher.make(stops, (id) => tokens[id] ?? new Uint8Array());
  let state = matcher.start;
  for (const id of tokens.keys()) {
    const advanced = matcher.advance(state, id);
    state = advanced.state;
    if (advanced.matched) return id + 1;
  }
  return undefined;
};

/** Cuts bytes at the given positions. */
const split = (bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] => {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, i) => bytes.slice(at[i], end));
};

describe("a stop sequence", () => {
  it("is found in the token in which it ends, however the text is split", () => {
    const alphabet = fc.constantFrom("a", "b", "<", "/", "√", "é");
    const text = fc.array(alphabet, { maxLength: 30 }).map((letters) => letters.join(""));
    const stops = fc.array(fc.array(alphabet, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 });
    assertProperty(
      fc.property(text, stops, fc.array(fc.nat(), { maxLength: 10 }), (whole, patterns, cuts) => {
        const sequences = patterns.map((letters) => letters.join(""));
        const tokens = split(utf8.encode(whole), cuts);
        const ends = sequences
          .map((sequence) => [whole.indexOf(sequence), sequence] as const)
          .filter(([at]) => at >= 0)
          .map(([at, sequence]) => utf8.encode(whole.slice(0, at) + sequence).length);
        let bytes = 0;
        const first = Math.min(...ends);
        const expected = tokens.findIndex((token) => {
          bytes += token.length;
          return bytes >= first;
        });
        expect(stopsAfter(sequences, tokens)).toBe(ends.length === 0 ? undefined : expected + 1);
      }),
      { numRuns: 500 },
    );
  });

  it("is found in the middle of a token and across a character split into bytes", () => {
    expect(
      stopsAfter(
        ["</answer>"],
        ["Up</ans", "wer> and more"].map((text) => utf8.encode(text)),
      ),
    ).toBe(2);
    const [e2, rest] = [utf8.encode("√").slice(0, 1), utf8.encode("√").slice(1)];
    expect(stopsAfter(["√"], [e2, rest])).toBe(2);
  });

  it("that is empty never matches, and none at all neither", () => {
    expect(stopsAfter([""], [utf8.encode("text")])).toBeUndefined();
    expect(stopsAfter([], [utf8.encode("text")])).toBeUndefined();
  });
});

describe("a token's bytes", () => {
  const view = (spelling: ByteDecoder.ByteSpelling, tokens: readonly string[], added: readonly number[] = []) =>
    ByteDecoder.make({
      spelling,
      size: tokens.length,
      tokenOf: (id) => tokens[id],
      isAdded: (id) => added.includes(id),
    });

  it("are read from the byte map of byte-level BPE, added tokens literally", () => {
    const bytesOf = view("byte_level", ["Ġup", "âĪļ", "Ċ", "Ġ<tag>"], [3]);
    expect([0, 1, 2, 3].map((id) => new TextDecoder().decode(bytesOf(id)))).toEqual([" up", "√", "\n", "Ġ<tag>"]);
  });

  it("are read from byte fallback tokens and SentencePiece's spaces", () => {
    const bytesOf = view("byte_fallback", ["<0xE2>", "<0x0A>", "▁up", "<0x0A>"], [3]);
    expect([...bytesOf(0)]).toEqual([0xe2]);
    expect([...bytesOf(1)]).toEqual([0x0a]);
    expect(new TextDecoder().decode(bytesOf(2))).toBe(" up");
    expect(new TextDecoder().decode(bytesOf(3))).toBe("<0x0A>");
  });

  it("have a printable character for each of the 256", () => {
    expect(new Set(ByteDecoder.characterOfByte).size).toBe(256);
    expect(ByteDecoder.characterOfByte.join("")).toMatch(/^[^\s\p{Cc}]+$/u);
  });
});
