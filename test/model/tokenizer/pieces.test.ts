import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { piecesOf } from "../../../src/model/tokenizer/pieces.ts";
import { assertProperty } from "../../property.ts";

/** Every byte is a token. */
const bytesOf = (id: number): Uint8Array => Uint8Array.of(id);

describe("the pieces of a reply", () => {
  it("give a character of several ids to the last one", () => {
    expect(piecesOf(bytesOf, new TextEncoder().encode("aé€"))).toEqual(["a", "", "é", "", "", "€"]);
  });

  it("are one for each id, and the text of the bytes when joined, cut characters included", () => {
    assertProperty(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const pieces = piecesOf(bytesOf, bytes);
        expect(pieces).toHaveLength(bytes.length);
        expect(pieces.join("")).toBe(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
      }),
    );
  });
});
