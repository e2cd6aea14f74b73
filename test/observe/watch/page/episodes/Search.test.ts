/** A search is part of the page's address, and becomes the server's question. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  everything,
  format,
  pageSize,
  parse,
  queryOf,
  type Search,
} from "../../../../../src/observe/watch/page/episodes/Search.ts";
import { verdicts } from "../../../../../src/observe/watch/page/filter/windows.ts";
import { assertProperty } from "../../../../property.ts";

const searches = fc.record<Search>({
  from: fc.option(fc.nat()),
  to: fc.option(fc.nat()),
  split: fc.constantFrom(null, "train", "val"),
  tag: fc.option(fc.string({ minLength: 1 })),
  success: fc.constantFrom(null, true, false),
  verdict: fc.constantFrom(null, ...verdicts),
  offset: fc.nat(),
});

describe("a search", () => {
  it("reads back from the address that it makes", () => {
    assertProperty(
      fc.property(searches, (search) => {
        expect(parse(format(search))).toEqual(search);
      }),
    );
  });

  it("is made of any text, and is everything where the text says nothing", () => {
    assertProperty(
      fc.property(fc.string(), (text) => {
        expect(Object.keys(parse(text))).toEqual(Object.keys(everything));
      }),
    );
    expect(parse("from=-1&to=x&split=test&success=maybe&verdict=best&offset=1.5&tag=")).toEqual(everything);
    expect(format(everything)).toBe("");
  });

  it("asks for what is set, and for nothing after the moment that is looked at", () => {
    const all = { offset: 0, limit: pageSize };
    expect(queryOf(everything, null)).toEqual(all);
    expect(queryOf(everything, 7)).toEqual({ ...all, to: 7 });
    expect(queryOf({ ...everything, to: 5, success: false }, 7)).toEqual({ ...all, to: 5, success: false });
    expect(queryOf({ ...everything, to: 9, from: 0 }, 7)).toEqual({ ...all, from: 0, to: 7 });
  });
});
