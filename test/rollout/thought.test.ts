import { fileURLToPath } from "node:url";
import { Effect } from "effect";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { nanoTokenizer } from "../../src/model/tokenizer/NanoVocabulary.ts";
import { piecesOf } from "../../src/model/tokenizer/pieces.ts";
import { load, make, type Tokenizer } from "../../src/model/tokenizer/Tokenizer.ts";
import { parse } from "../../src/rollout/parse.ts";
import { idsWithin } from "../../src/rollout/thought.ts";
import { assertProperty } from "../property.ts";

const grammar = { think: true, separator: "||", maxActions: 2 };
const opening = "<think>";

describe("the ids of a thought", () => {
  it("are those that spell nothing else", () => {
    // "a.</" also spells the beginning of the closing tag, ">b" the end of one.
    expect(idsWithin(["a", " b", "</think>"], [0, 3])).toEqual([0, 2]);
    expect(idsWithin(["a", " b.</", "think>"], [0, 4])).toEqual([0, 1]);
    expect(idsWithin([">b", "c", "</think>"], [1, 3])).toEqual([1, 2]);
  });

  it("hold all ids of a character, or none of them", () => {
    expect(idsWithin(["", "", "€", "</think>"], [0, 1])).toEqual([0, 3]);
    expect(idsWithin(["a", "", "€</", "think>"], [0, 2])).toEqual([0, 1]);
  });

  it("are none where no id spells the thought alone", () => {
    expect(idsWithin(["a</", "think>"], [0, 1])).toBeUndefined();
    expect(idsWithin([], [0, 0])).toBeUndefined();
  });
});

describe.each([
  { name: "the nano vocabulary", open: () => make(nanoTokenizer()) },
  {
    name: "a byte-level one",
    open: () => load(fileURLToPath(new URL("../fixtures/qwen2-tokenizer", import.meta.url))),
  },
])("a thought spelled by $name", ({ open }) => {
  let tokenizer: Tokenizer;
  beforeAll(async () => {
    tokenizer = await Effect.runPromise(open());
  });

  /** The text of the thought's ids, of a reply whose opening tag was shown. */
  const thoughtText = (reply: string): string | undefined => {
    const ids = tokenizer.encode(reply);
    const { span } = parse(opening + tokenizer.decode(ids), grammar);
    if (span === null) return undefined;
    const pieces = piecesOf(tokenizer.bytesOf, ids);
    const found = idsWithin(pieces, [span[0] - opening.length, span[1] - opening.length]);
    return found === undefined ? "" : tokenizer.decode(ids.subarray(...found));
  };

  it("is read back by its ids", () => {
    expect(thoughtText("go Right then Down</think><answer>Right</answer>")).toBe("go Right then Down");
    expect(thoughtText(" go\n</think> <answer>Right</answer>")).toBe(" go\n");
  });

  it("is absent where there is none, or an empty one", () => {
    expect(thoughtText("</think><answer>Right</answer>")).toBeUndefined();
    expect(thoughtText("  </think><answer>Right</answer>")).toBeUndefined();
    expect(thoughtText("go Right")).toBeUndefined();
  });

  it("never reaches beyond the thought, and lacks at most what shares an id with the tag", () => {
    assertProperty(
      fc.property(fc.string({ unit: "grapheme", maxLength: 12 }), (text) => {
        const thought = text.normalize("NFC").replaceAll("<", "(");
        fc.pre(thought.trim() !== "");
        const found = thoughtText(`${thought}</think><answer>Up</answer>`);
        expect(found === undefined || thought.startsWith(found)).toBe(true);
      }),
    );
  });
});
