/** The answer that is found in a text without the form. */
import { describe, expect, it } from "vitest";
import { extractAnswer } from "../../../../src/env/games/search/extractAnswer.ts";

describe("the answer in a text", () => {
  it.each([
    ["boxed", "I think \\boxed{ Frostgate } but **Stonewater** may be", "Frostgate"],
    ["bold", "It is **Frostgate**, I am sure. The answer is Stonewater.", "Frostgate"],
    ["in single stars", "It is *Frostgate* for sure.", "Frostgate"],
    ["bold with more than two letters", "**A** or **...** or **Frostgate**", "Frostgate"],
    ["stated", "Well. The correct answer is: Frostgate. So it goes.", "Frostgate"],
    ["stated in capitals", "THE ANSWER IS FROSTGATE!", "FROSTGATE"],
    ["stated and short", "The answer is 42.", "42"],
    ["stated in quotes", 'the answer is "yes"', "yes"],
    ["concluded", "There are two towns; therefore, Frostgate. Or not.", "Frostgate"],
    ["the first sentence that says something", "Oh. Ah! It must be Frostgate. Or Stonewater.", "It must be Frostgate"],
    ["the text itself when it is short", "42", "42"],
    ["free of its thought", "<think>The answer is Stonewater.</think> Frostgate  is\nit", "Frostgate is it"],
    ["of nothing", "<think>hm</think>  ", ""],
  ])("is %s", (_name, text, answer) => {
    expect(extractAnswer(text)).toBe(answer);
  });

  it("is not cut out of a name that holds a word", () => {
    expect(extractAnswer("Robinson Crusoe")).toBe("Robinson Crusoe");
  });

  it("has at most 100 characters where there is no sentence", () => {
    expect(extractAnswer("a. ".repeat(80))).toBe("a. ".repeat(80).slice(0, 100).trim());
  });

  it.each(["search[x", "finish(x)", "\\boxed{}", "****", "* *", "?!", "the answer is", "therefore"])(
    "is a text for %j too",
    (text) => {
      expect(typeof extractAnswer(text)).toBe("string");
    },
  );
});
