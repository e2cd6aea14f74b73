/** The code that is found in an answer. */
import { describe, expect, it } from "vitest";
import { submittedCode } from "../../../src/env/sandbox/submittedCode.ts";
import { parse } from "../../../src/rollout/parse.ts";

describe("the code in an answer", () => {
  it("is the answer itself where nothing is fenced", () => {
    expect(submittedCode("\n\n  def f():\n    return 1\n\n")).toBe("  def f():\n    return 1");
  });

  it.each(["```python\nx = 1\n```", "```\nx = 1\n```", "Here it is:\n```py\nx = 1\n```\nDone.", "~~~\nx = 1\n~~~"])(
    "is the inside of a fence: %j",
    (answer) => {
      expect(submittedCode(answer)).toBe("x = 1");
    },
  );

  it("is the last block of several", () => {
    expect(submittedCode("```\nfirst\n```\nbetter:\n```js\nsecond\n```")).toBe("second");
  });

  it("reaches to the end where a fence is never closed", () => {
    expect(submittedCode("```python\nx = 1\ny = 2")).toBe("x = 1\ny = 2");
    expect(submittedCode("```\nold\n```\n```js\nnew")).toBe("new");
  });

  it("is empty where there is none", () => {
    for (const answer of ["", "  \n ", "```\n```", "```python\n\n\n```"]) expect(submittedCode(answer)).toBe("");
  });

  it("keeps backticks that are no fence, and line ends of one kind", () => {
    expect(submittedCode("const a = `b`;\r\nconst c = '```';")).toBe("const a = `b`;\nconst c = '```';");
  });

  it("reads long runs of blanks at once", () => {
    const blanks = `${" ".repeat(200_000)}\n`.repeat(3);
    expect(submittedCode(`${blanks}x${blanks}y`).endsWith("y")).toBe(true);
  });

  it("survives the reading of a reply whole: separators, commas, quotes and lines", () => {
    const code = 'const f = (a, b) => a || b;\n\nconst g = "x, || y";\nif (f(1, 2) || g) f(g, "<b>");';
    const grammar = { think: true, separator: null, maxActions: 1 };
    const reading = parse(`<think>so</think><answer>\n\`\`\`js\n${code}\n\`\`\`\n</answer>`, grammar);
    expect(reading.actions.map(submittedCode)).toEqual([code]);
  });
});
