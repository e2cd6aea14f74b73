/** The texts of a task and of a grade. */
import { describe, expect, it } from "vitest";
import { gradeText, problemText, rules, shortText } from "../../../../src/env/games/deepcoder/ProblemText.ts";
import type { Task } from "../../../../src/env/games/deepcoder/Task.ts";
import type { Grade } from "../../../../src/env/sandbox/Grade.ts";
import { configWith, doubling, echoing } from "./tasks.ts";

const python = configWith();
const javascript = configWith({ language: "javascript" });

describe("a problem", () => {
  it("asks for a function and shows the first examples as calls", () => {
    expect(problemText(python, doubling)).toBe(
      "Double a number.\n\nWrite def double(number); its result is returned, not printed.\n\nExamples:\ndouble(1) gives 2",
    );
  });

  it("shows values as the language writes them", () => {
    const task: Task = { ...doubling, tests: [{ input: '[true,null,["a",false],{"k":1}]', outputs: ["null"] }] };
    expect(problemText(python, task)).toContain('double(True, None, ["a", False], {"k": 1}) gives None');
    expect(problemText(javascript, task)).toContain('double(true, null, ["a",false], {"k":1}) gives null');
    expect(problemText(javascript, task)).toContain("function double(number)");
  });

  it("asks for a program and shows an example as input and output", () => {
    expect(problemText(python, echoing)).toMatch(/standard input[\s\S]*Input:\na\nb\nOutput:\na\nb$/);
  });

  it("shows no other test than its examples", () => {
    const text = problemText(python, { ...doubling, tests: [...doubling.tests, { input: "[777]", outputs: ["888"] }] });
    expect(text).not.toMatch(/777|888/);
  });

  it("gives Python the code to complete", () => {
    const task = { ...doubling, starter: "class Solution:\n    def double(self, number):", parameters: null };
    expect(problemText(python, task)).toContain("Complete this code:\nclass Solution:");
    expect(problemText(javascript, task)).toContain("function double(...)");
  });
});

describe("the short text", () => {
  it("is at most 45 words of plain ASCII on one line", () => {
    const long = { ...doubling, problem: "Größe – ∑ of\nmany words. ".repeat(40) };
    for (const task of [doubling, echoing, long]) {
      const text = shortText(python, task);
      expect(text).toMatch(/^[\x20-\x7e]+$/);
      expect(text.split(" ").length).toBeLessThanOrEqual(45);
    }
    expect(shortText(javascript, doubling)).toBe("function double(number) : Double a number.");
  });
});

describe("the rules", () => {
  it("name the language and its limits", () => {
    expect(rules(python)).toMatch(/Python 3[\s\S]*2 s and 256 MiB/);
    expect(rules(configWith({ language: "javascript", test_timeout: 0.5 }))).toMatch(/readline\(\)[\s\S]*0\.5 s/);
  });
});

describe("a verdict", () => {
  const verdict: Grade = { valid: true, passed: 1, total: 3, timedOut: 0, compileError: false, note: "test 2 fails" };

  it("says how many tests pass, and the first that does not", () => {
    expect(gradeText(verdict)).toBe("Your code passes 1 of 3 tests: test 2 fails.");
    expect(gradeText({ ...verdict, passed: 3, note: "" })).toBe("Your code passes all 3 tests.");
  });
});
