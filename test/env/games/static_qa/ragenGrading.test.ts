/** RAGEN's grading of its static sets; each case follows from its scoring functions. */
import { Schema } from "effect";
import { describe, expect, it } from "vitest";
import { isRightInRagen } from "../../../../src/env/games/static_qa/ragenGrading.ts";
import { StaticQA } from "../../../../src/env/games/static_qa/StaticQA.ts";
import { StaticQAConfig } from "../../../../src/env/games/static_qa/StaticQAConfig.ts";
import { noiseOf } from "../../contract/players.ts";

describe("a number", () => {
  it.each([
    ["18", "18.0", true],
    ["18", "the answer is $18, not 19", true],
    ["-18", "18", true],
    ["18", "-18", true],
    ["1,080", "1080", true],
    ["1080", "1,080", true],
    ["1080", "1,081", false],
    ["1,080", "1", true],
    ["18", "", false],
    ["eighteen", "Eighteen.", true],
    ["0.5", "1/2", false],
    ["3", "step 1: 3", false],
    ["12.5", "١٢.٥", true],
  ] as const)("%j by %j: %s", (gold, answer, expected) => {
    expect(isRightInRagen("number", gold, answer)).toBe(expected);
  });
});

describe("a text", () => {
  it.each([
    ["x^2 + 1", "X 2 1", true],
    ["\\frac{1}{2}", "frac12", true],
    ["1.5", "15", true],
    ["-3", "3", true],
    ["18", "18.0", false],
    ["×2", "2", false],
  ] as const)("%j by %j: %s", (gold, answer, expected) => {
    expect(isRightInRagen("text", gold, answer)).toBe(expected);
  });
});

describe("a letter", () => {
  it.each([
    ["B", "b", true],
    ["B", "(B) 12", true],
    ["A", "the answer is B", true],
    ["B", "the answer is B", false],
    ["E", "E", true],
    ["E", "A", false],
    ["B", "12", false],
  ] as const)("%j by %j: %s", (gold, answer, expected) => {
    expect(isRightInRagen("letter", gold, answer)).toBe(expected);
  });
});

describe("match: ragen", () => {
  const graded = (dataset: string, gold: string, answer: string, choices: readonly string[] | null = null) => {
    const config = Schema.decodeUnknownSync(StaticQAConfig)({ dataset, match: "ragen" });
    const state = { question: { text: "?", gold, choices }, wrong: 0, solved: false };
    return StaticQA.step(config, state, answer, noiseOf(0, 0, 0)).info.success;
  };

  it("grades each set by its own rule", () => {
    expect(graded("gsm8k", "18", "about 18")).toBe(true);
    expect(graded("metamathqa", "18", "about 18")).toBe(false);
    expect(graded("mmlu", "A", "the answer is B", ["B", "C"])).toBe(true);
  });
});
