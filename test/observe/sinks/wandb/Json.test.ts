import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { itemsOf, Latest, objectOf, textOf } from "../../../../src/observe/sinks/wandb/Json.ts";
import { assertProperty } from "../../../property.ts";

describe("JSON for W&B", () => {
  it("has words for numbers that are not finite, at any depth", () => {
    expect(textOf({ a: [Number.NaN, { b: Number.POSITIVE_INFINITY }], c: Number.NEGATIVE_INFINITY })).toBe(
      '{"a":[NaN,{"b":Infinity}],"c":-Infinity}',
    );
  });

  it("is plain JSON otherwise", () => {
    assertProperty(fc.property(fc.jsonValue(), (plain) => textOf(plain) === JSON.stringify(plain)));
    expect(textOf({ a: undefined, b: null, c: [undefined] })).toBe('{"b":null,"c":[null]}');
  });

  it("puts items with one beginning into one object", () => {
    const items = [...itemsOf("val/generations", { nrows: 2, ncols: 3 }), { path: ["a.b"], json: "1" }];
    expect(objectOf(items)).toBe('{"val/generations":{"nrows":2,"ncols":3},"a.b":1}');
  });

  it("has the newest of each item", () => {
    const latest = new Latest();
    latest.add([
      { path: ["a"], json: "1" },
      { path: ["b", "c"], json: "2" },
    ]);
    const before = latest.copy();
    latest.add([{ path: ["a"], json: "3" }]);
    expect(JSON.parse(latest.text)).toEqual({ a: 3, b: { c: 2 } });
    expect(JSON.parse(before.text)).toEqual({ a: 1, b: { c: 2 } });
  });
});
