/** Texts that are arithmetic, with their values, and texts that are not. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Expression,
  evaluate,
  maxLength,
  parseExpression,
} from "../../../../src/env/games/countdown/Expression.ts";
import { apply, operators, type Rational, ratio, text, whole } from "../../../../src/env/games/countdown/Rational.ts";
import { assertProperty } from "../../../property.ts";

/** The value of a text in print, or why it has none. */
const worth = (written: string): string => {
  const tree = parseExpression(written);
  if (tree === null) return "unreadable";
  const value = evaluate(tree);
  return value === null ? "no value" : text(value);
};

describe("an expression", () => {
  it.each([
    ["2 + 5 - 3", "4"],
    ["2+5*3", "17"],
    ["(2 + 5) * 3", "21"],
    ["20 - 5 - 3", "12"],
    ["20 - (5 - 3)", "18"],
    ["40 / 4 / 2", "5"],
    ["40 / (4 / 2)", "20"],
    ["8 / (3 - 8 / 3)", "24"],
    ["7 / 2", "7/2"],
    ["6 / 4 * 2", "3"],
    ["-3 + 5", "2"],
    ["- - 3", "3"],
    ["2 * -3", "-6"],
    ["-(2 + 3) * 2", "-10"],
    ["+4 - +1", "3"],
    ["((((7))))", "7"],
    ["  12\t+\n 0  ", "12"],
    ["00", "0"],
    ["99999999999999999999 - 99999999999999999998", "1"],
    ["1 / 3 + 1 / 3 + 1 / 3", "1"],
    ["0 / 5", "0"],
    ["2 + 5 - 3.", "4"],
    ["2. + 5. * 3 ", "17"],
    ["(2 + 5.) * 3.", "21"],
  ])("%j is %s", (written, value) => {
    expect(worth(written)).toBe(value);
  });

  it.each(["5 / 0", "1 / (2 - 2)", "0 / 0", "3 + 1 / (4 - 4) * 0"])("%j has no value", (written) => {
    expect(worth(written)).toBe("no value");
  });

  it.each([
    ...["", " ", "+", "2 +", "* 2", "2 3", "2 (3)", "(2", "2)", "()", "2 + + ", "2 ** 3", "7 // 2", "7 % 2", "2 ^ 3"],
    ...["2.5", "1e3", "0x10", "1_0", "05", "2 × 3", "2 − 3", "two + 5", "2 + 5 = 7", "2, 3", "x", "constructor", "²"],
    ...["2 + 5 - 3 .", "(2 + 5).", "2 + 5 - 3..", ".", "2 + .5", "2.+.", "3. 5"],
  ])("%j is none", (written) => {
    expect(worth(written)).toBe("unreadable");
  });

  it("may be nested as deep as it may be long, and no longer", () => {
    const depth = (maxLength - 1) / 2;
    const nested = (levels: number): string => `${"(".repeat(levels)}7${")".repeat(levels)}`;
    expect(worth(nested(Math.floor(depth)))).toBe("7");
    expect(worth(nested(Math.ceil(depth)))).toBe("unreadable");
    expect(worth(`${"-".repeat(maxLength - 1)}7`)).toBe("-7");
    expect(worth("9".repeat(maxLength))).toBe("9".repeat(maxLength));
  });

  it("has the value of its tree, however it is spaced and enclosed", () => {
    const space = fc.constantFrom("", " ", "  ");
    interface Sample {
      readonly written: string;
      readonly value: Rational | null;
    }
    const { tree } = fc.letrec<{ tree: Sample; leaf: Sample; negation: Sample; operation: Sample }>((tie) => ({
      tree: fc.oneof({ maxDepth: 4 }, tie("leaf"), tie("operation"), tie("negation")),
      leaf: fc.nat(99).map((value) => ({ written: String(value), value: whole(value) })),
      negation: tie("tree").map(({ value, written }) => ({
        written: `-(${written})`,
        value: value === null ? null : ratio(-value.numerator, value.denominator),
      })),
      operation: fc
        .tuple(fc.constantFrom(...operators), tie("tree"), tie("tree"), space)
        .map(([operator, a, b, gap]) => ({
          written: `(${a.written})${gap}${operator}${gap}(${b.written})`,
          value: a.value === null || b.value === null ? null : apply(operator, a.value, b.value),
        })),
    }));
    assertProperty(
      fc.property(tree, ({ value, written }) => {
        fc.pre(written.length <= maxLength);
        expect(worth(written)).toBe(value === null ? "no value" : text(value));
      }),
      { numRuns: 300 },
    );
  });

  it("never fails on any text", () => {
    const texts = fc.string({ unit: fc.constantFrom(..."0179+-*/() ."), maxLength: 24 });
    assertProperty(
      fc.property(texts, (written) => {
        const tree = parseExpression(written);
        expect(tree === null || evaluate(tree) !== undefined).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe("the walk over an expression", () => {
  it("meets every operation after its parts, from left to right", () => {
    const met: string[] = [];
    evaluate(parseExpression("(2 + 6) / 3 - 4 * -1") as Expression, (operator, left, right, value) =>
      met.push(`${text(left)} ${operator} ${text(right)} = ${text(value)}`),
    );
    expect(met).toEqual(["2 + 6 = 8", "8 / 3 = 8/3", "4 * -1 = -4", "8/3 - -4 = 20/3"]);
  });
});

describe("a fraction", () => {
  const fractions = fc
    .tuple(fc.bigInt(-500n, 500n), fc.bigInt(1n, 500n))
    .map(([numerator, denominator]) => ratio(numerator, denominator)!);

  it("is undone by the opposite operator", () => {
    assertProperty(
      fc.property(fractions, fractions, (a, b) => {
        expect(apply("-", apply("+", a, b)!, b)).toEqual(a);
        expect(apply("+", apply("-", a, b)!, b)).toEqual(a);
        expect(apply("/", apply("*", a, b)!, b)).toEqual(b.numerator === 0n ? null : a);
        if (b.numerator !== 0n) expect(apply("*", apply("/", a, b)!, b)).toEqual(a);
      }),
      { numRuns: 200 },
    );
  });

  it("is in lowest terms with a positive denominator", () => {
    expect(ratio(6n, -4n)).toEqual({ numerator: -3n, denominator: 2n });
    expect(ratio(0n, -4n)).toEqual({ numerator: 0n, denominator: 1n });
    expect(ratio(1n, 0n)).toBeNull();
  });
});
