import { describe, expect, it } from "vitest";
import { byteLookup, tokenBytes } from "../../src/generation/TokenBytes.ts";

const words = ["a", "", "bcd"].map((word) => new TextEncoder().encode(word));
const none = new Uint8Array();

describe("a vocabulary as one table", () => {
  it("has the bytes of all ids end to end", () => {
    const { bytes, offsets } = tokenBytes(3, (id) => words[id] ?? none);
    expect(new TextDecoder().decode(bytes)).toBe("abcd");
    expect([...offsets]).toEqual([0, 1, 1, 4]);
  });

  it("gives each id its bytes back", () => {
    const read = byteLookup(tokenBytes(3, (id) => words[id] ?? none));
    expect([0, 1, 2, 3].map((id) => [...read(id)])).toEqual([[97], [], [98, 99, 100], []]);
  });
});
