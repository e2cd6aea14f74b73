/** When an output is the expected one. */
import { describe, expect, it } from "vitest";
import { isSameJson, isSameText } from "../../../src/env/sandbox/sameOutput.ts";

describe("values", () => {
  it.each([
    ["1", "1"],
    ["1.0", "1"],
    ["[1, [2, null], true]", "[1,[2,null],true]"],
    ['{"a":1,"b":[2]}', '{"b":[2],"a":1}'],
    ["0.30000000000000004", "0.3"],
    ["2", "2.0000000001"],
    ["2.0000000000000004", "2.0"],
    ["2", "2.0"],
    ["[1e-7]", "[0.0]"],
    ["123456789012345678901234567890", "123456789012345678901234567890"],
    ['"\\u00e9"', '"é"'],
  ])("are the same: %s and %s", (actual, expected) => {
    expect(isSameJson(actual, expected)).toBe(true);
  });

  it.each([
    ["1", "2"],
    ["1", '"1"'],
    ["1", "true"],
    ["null", "0"],
    ["[1,2]", "[2,1]"],
    ["[1]", "[1,1]"],
    ["[]", "{}"],
    ["{}", "[]"],
    ['{"a":1,"b":2}', '{"a":1}'],
    ['{"toString":1}', '{"a":1}'],
    ["0.3001", "0.3"],
    ["1.0000001", "1"],
    ["2.001", "2.0"],
    ["[2.0]", "[[2.0]]"],
    ["{}", "2.0"],
    ["123456789012345678901234567891", "123456789012345678901234567890"],
    ["9007199254740993", "9007199254740992"],
    ["NaN", "NaN"],
    ["", '""'],
  ])("differ: %s and %s", (actual, expected) => {
    expect(isSameJson(actual, expected)).toBe(false);
  });

  it("differ where one is too deep to read, without an error", () => {
    const deep = "[".repeat(200_000) + "]".repeat(200_000);
    expect(isSameJson(deep, "[]")).toBe(false);
  });
});

describe("texts", () => {
  it.each([
    ["1 2\n", "1 2"],
    ["1 2  \n\n\n", "1 2\n"],
    ["1\r\n2\r\n", "1\n2"],
    ["a  b", "a b"],
    ["  a", "  a"],
    ["a\n   \nb", "a\n\nb"],
    ["0.33333333", "0.3333333333"],
    ["x 1.50 y", "x 1.5 y"],
    ["3", "3.0"],
    ["", "\n"],
  ])("are the same: %j and %j", (actual, expected) => {
    expect(isSameText(actual, expected)).toBe(true);
  });

  it.each([
    ["1", "2"],
    ["a", " a"],
    ["1\n2", "1 2"],
    ["1\n\n2", "1\n2"],
    ["ab", "a b"],
    ["A", "a"],
    ["1.0", "1"],
    ["0.334", "0.333"],
    ["12345678901234567891", "12345678901234567890"],
    ["", "0"],
    ["nan", "0.5"],
  ])("differ: %j and %j", (actual, expected) => {
    expect(isSameText(actual, expected)).toBe(false);
  });

  it("are told apart at once however many blanks they hold", () => {
    expect(isSameText(`${" ".repeat(500_000)}x`, `${" ".repeat(500_000)}y`)).toBe(false);
  });
});
