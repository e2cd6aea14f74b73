/** When an answer is right: as text, as a number, as a choice. */
import { describe, expect, it } from "vitest";
import {
  type AnswerMatching,
  chosenLetter,
  isRightAnswer,
} from "../../../../src/env/games/static_qa/answerMatching.ts";
import { condense, numberOf, withoutTypesetting } from "../../../../src/env/games/static_qa/mathText.ts";

const text: AnswerMatching = { match: "text", tolerance: 1e-6 };
const number: AnswerMatching = { match: "number", tolerance: 1e-6 };
const free = (gold: string) => ({ text: "?", gold, choices: null });

describe("as text, an answer is right", () => {
  it.each([
    ["x^2 + 1", "X^2+1"],
    ["\\frac{1}{2}", " \\frac{1} {2}\n"],
    ["Tuesday", "tuesday"],
    ["(3, 4]", "(3,4]"],
    ["18", "1 8"],
  ])("without white space and case: %j as %j", (gold, answer) => {
    expect(isRightAnswer(text, free(gold), answer)).toBe(true);
  });

  it.each([
    ["18", "18.0"],
    ["18", "$18"],
    ["1080", "1,080"],
    ["0.5", "1/2"],
    ["18", ""],
  ])("and in no other way: %j not as %j", (gold, answer) => {
    expect(isRightAnswer(text, free(gold), answer)).toBe(false);
  });
});

describe("as a number, an answer is right", () => {
  it.each([
    ["18", "18.0"],
    ["18", "$18.00"],
    ["1080", "1,080"],
    ["1,080", "1080."],
    ["0.5", "1/2"],
    ["\\frac{3}{4}", ".75"],
    ["-\\frac{3}{4}", "-\\dfrac{3}{4}"],
    ["50", "50\\%"],
    ["90", "90^\\circ"],
    ["7", "\\boxed{7}"],
    ["\\frac{1}{\\sqrt{2}}", "\\boxed{\\frac{1}{\\sqrt{2}}}"],
    ["(1, 2)", "\\left(1, 2\\right)"],
    ["-3", "\u22123"],
    ["1e3", "1000"],
    ["12345", "12{,}345"],
    ["x+1", "$x + 1$"],
    ["\\frac{\\pi}{2}", "$\\tfrac{\\pi}{2}$"],
    ["[1, 2.5]", "[1.0, 5/2]"],
    ["(a)", "A"],
    ["True", "true."],
  ])("however it is written: %j as %j", (gold, answer) => {
    expect(isRightAnswer(number, free(gold), answer)).toBe(true);
  });

  it.each([
    ["18", "19"],
    ["18", "18 dollars"],
    ["18", "about 18"],
    ["1/0", "0"],
    ["[1, 2]", "[1, 2, 3]"],
    ["\\leftarrow", "\\rightarrow"],
    ["(1, 2)", "[1, 2]"],
    ["12,34", "1234"],
    ["Infinity", "1e999"],
    ["0", ""],
  ])("but not as another one or as a sentence: %j not as %j", (gold, answer) => {
    expect(isRightAnswer(number, free(gold), answer)).toBe(false);
  });

  it("within the tolerance, unless the right one is whole", () => {
    const loose: AnswerMatching = { match: "number", tolerance: 0.01 };
    expect(isRightAnswer(loose, free("3.142"), "3.15")).toBe(true);
    expect(isRightAnswer(loose, free("3.142"), "3.2")).toBe(false);
    expect(isRightAnswer(loose, free("300"), "301")).toBe(false);
    expect(isRightAnswer(loose, free("[3.5, 2.91667]"), "[3.5, 2.92]")).toBe(true);
  });
});

describe("a number", () => {
  it.each([
    ["18", 18],
    ["+.5", 0.5],
    ["-1,234,567.25", -1234567.25],
    ["3/-4", -0.75],
    ["-\\frac{1}{8}", -0.125],
    ["\\$3.50", 3.5],
    ["2e-3", 0.002],
  ])("is read from %j", (written, value) => {
    expect(numberOf(withoutTypesetting(written))).toBe(value);
  });

  it.each(["", "x", "1,23", "1 2x", "1/2/3", "--3", "\\frac{1}{0}", "NaN", "0x10"])(
    "is not read from %j",
    (written) => {
      expect(numberOf(withoutTypesetting(written))).toBeNull();
    },
  );
});

describe("typesetting", () => {
  it("comes off only where it holds the whole answer", () => {
    expect(withoutTypesetting("$\\boxed{ 7 }$.")).toBe("7");
    expect(withoutTypesetting("\\text{a}+\\text{b}")).toBe("\\text{a}+\\text{b}");
    expect(condense(" A b\n")).toBe("ab");
  });

  it("is read in time on a text made to slow it", () => {
    const long = `${"$".repeat(20_000)}${"{".repeat(20_000)}${"\\text{".repeat(5_000)}`;
    const nested = `${"\\text{".repeat(3_000)}${"}".repeat(3_000)}`;
    for (const text of [long, nested]) expect(isRightAnswer(number, free("1"), text)).toBe(false);
  });
});

describe("a choice", () => {
  const colours = ["red", "dark blue", "green", "E"];

  it.each(["B", "b", "(b)", "B.", "B)", "b: dark blue", "(B) dark blue", "Dark Blue", "  B  "])(
    "is named by %j",
    (answer) => {
      expect(chosenLetter(answer, colours)).toBe("B");
      expect(isRightAnswer(text, { text: "?", gold: "B", choices: colours }, answer)).toBe(true);
    },
  );

  it.each(["", "F", "B. red", "blue", "A or B", "ab"])("is not named by %j", (answer) => {
    expect(chosenLetter(answer, colours)).toBeNull();
    expect(isRightAnswer(number, { text: "?", gold: "B", choices: colours }, answer)).toBe(false);
  });

  it("is its letter before it is another's words", () => {
    expect(chosenLetter("A", ["B", "A"])).toBe("A");
  });

  it("may be a letter as a word where there are fewer choices", () => {
    expect(chosenLetter("E", colours)).toBe("D");
  });
});
