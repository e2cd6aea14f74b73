/** The address: what it says can be read back, and no text breaks it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { format, home, parse, type Route, to, views } from "../../../../src/observe/watch/page/route.ts";
import { assertProperty } from "../../../property.ts";

const routes: fc.Arbitrary<Route> = fc.record({
  view: fc.constantFrom(...views),
  parts: fc.array(fc.string({ minLength: 1, unit: "grapheme" })),
  run: fc.option(fc.string({ minLength: 1, unit: "grapheme" })),
  at: fc.option(fc.integer({ min: 1, max: 4e12 })),
  over: fc.uniqueArray(fc.string({ minLength: 1, unit: "grapheme" })),
});

describe("the address", () => {
  it("reads back what it says", () => {
    assertProperty(
      fc.property(routes, (route) => {
        expect(parse(format(route))).toEqual(route);
      }),
    );
  });

  it("understands any text", () => {
    assertProperty(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect([null, ...views]).toContain(parse(text).view);
      }),
    );
  });

  it("names no view without one, and for a view that is none", () => {
    expect(parse("")).toEqual(home);
    expect(parse("#/nothing/1")).toEqual(home);
  });

  it("keeps the moment, the run and the runs over it from view to view", () => {
    const route = parse("#/line?run=a%2Fb&at=5&over=c%2Fd");
    expect(to(route, "episodes", "train", "3", "7")).toBe("#/episodes/train/3/7?run=a%2Fb&at=5&over=c%2Fd");
  });

  it("is live for a moment that is none", () => {
    expect(["#/line?at=", "#/line?at=x", "#/line?at=-3", "#/line?at=Infinity"].map((hash) => parse(hash).at)).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });
});
