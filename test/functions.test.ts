import { describe, expect, it } from "vitest";
import { functionsOf } from "./functions.ts";

const spans = (text: string) => functionsOf({ path: "a.ts", text }).map(({ line, lines }) => [line, lines]);

describe("the functions of a source text", () => {
  it("are declarations and generators, with their types", () => {
    expect(spans("export function a<A>(x: A): A {\n  return x;\n}\nfunction* b(): Iterable<number> {\n}")).toEqual([
      [1, 3],
      [4, 2],
    ]);
  });

  it("are arrows inside other functions, at any depth", () => {
    expect(spans("const a = () =>\n  [1].map((x) =>\n    () =>\n      x,\n  );")).toEqual([
      [1, 5],
      [2, 3],
      [3, 2],
    ]);
  });

  it("are generators given to a call", () => {
    expect(spans("const a = gen(function* () {\n  yield* b;\n});")).toEqual([[1, 3]]);
  });

  it("are a class's methods, accessors and constructor, not the class", () => {
    const text =
      "class A {\n  #x = 1;\n  constructor() {\n  }\n  get x() { return this.#x; }\n  f() {\n\n    // why\n  }\n}";
    expect(spans(text)).toEqual([
      [3, 2],
      [5, 1],
      [6, 4],
    ]);
  });

  it("are an object's methods", () => {
    expect(spans("const a = {\n  f() {\n  },\n};")).toEqual([[2, 2]]);
  });

  it("keep to their lines where characters take several bytes", () => {
    expect(spans('const a = "λ…🙂";\nconst b = () =>\n  a;')).toEqual([[2, 2]]);
  });

  it("are none in a text without any", () => {
    expect(spans("interface A { f(): void }\nconst a = 'function () {}';")).toEqual([]);
  });

  it("cannot be read from a text that does not parse", () => {
    expect(() => spans("const = 1;")).toThrow("a.ts: ");
  });
});
