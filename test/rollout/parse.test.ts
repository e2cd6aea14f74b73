import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Grammar, parse } from "../../src/rollout/parse.ts";
import { assertProperty } from "../property.ts";

const think: Grammar = { think: true, separator: "||", maxActions: 2 };
const noThink: Grammar = { ...think, think: false };

describe("parse", () => {
  it("reads a thought and its actions", () => {
    expect(parse("<think> go up </think> <answer> Up || Left </answer>", think)).toEqual({
      parsed: true,
      thought: "go up",
      span: [7, 14],
      actions: ["Up", "Left"],
      canonical: "<think>go up</think><answer>Up || Left</answer>",
    });
  });

  it("ignores the text around the reply and crosses lines", () => {
    const reading = parse("well,\n<think>a\nb</think>\n\n<answer>Up</answer> bye", think);
    expect(reading).toMatchObject({ parsed: true, thought: "a\nb", actions: ["Up"] });
  });

  it("takes the first thought and the first answer that follows it", () => {
    const reading = parse("<think>a</think><answer>Up</answer><think>b</think><answer>Down</answer>", think);
    expect(reading).toMatchObject({ thought: "a", actions: ["Up"] });
  });

  it("swallows a stray closing tag into the thought and strips it", () => {
    expect(parse("<think>a</think> so <think>b</think><answer>Up</answer>", think).thought).toBe("a so b");
  });

  it("strips the six markup tokens from both parts", () => {
    const reading = parse("<think><|im_start|>a<think></think><answer><think>Up<|im_end|></answer>", think);
    expect(reading.canonical).toBe("<think>a</think><answer>Up</answer>");
  });

  it("keeps the raw reply and names nothing where the form is missing", () => {
    for (const reply of [
      "",
      "Up",
      "<think>a</think>",
      "<think>a</think>Up<answer>Up</answer>",
      "<answer>Up</answer>",
    ]) {
      expect(parse(reply, think)).toEqual({ parsed: false, thought: "", span: null, actions: [], canonical: reply });
    }
    expect(parse("<think>a</think><answer>Up", think).parsed).toBe(false);
  });

  it("drops empty actions but still counts the reply as read", () => {
    expect(parse("<think></think><answer> || || </answer>", think)).toMatchObject({ parsed: true, actions: [] });
  });

  it("cuts to the limit of a turn and rewrites the answer", () => {
    const reading = parse("<think>t</think><answer>Up||Down ||Left</answer>", think);
    expect(reading.actions).toEqual(["Up", "Down"]);
    expect(reading.canonical).toBe("<think>t</think><answer>Up || Down</answer>");
  });

  it("keeps the answer as written where nothing is cut", () => {
    expect(parse("<think>t</think><answer>Up||Down</answer>", think).canonical).toContain("<answer>Up||Down</answer>");
  });

  it("needs only the answer without thinking", () => {
    expect(parse("<think>x<answer>Up</answer>", noThink)).toEqual({
      parsed: true,
      thought: "",
      span: null,
      actions: ["Up"],
      canonical: "<answer>Up</answer>",
    });
  });

  it("says where a thought stands, all that is between its tags, unless it is empty", () => {
    const reply = "<think> a </think> b\n</think> <answer>Up</answer>";
    const { span } = parse(reply, think);
    expect(reply.slice(...(span ?? []))).toBe(" a </think> b\n");
    expect(parse("<think> <think> </think><answer>Up</answer>", think).span).toBeNull();
  });

  it("splits on any separator literally", () => {
    expect(parse("<answer>a.b.c</answer>", { think: false, separator: ".", maxActions: 5 }).actions).toEqual([
      "a",
      "b",
      "c",
    ]);
  });

  it.each([
    "x^2 + 3, y = 1/2",
    "\\frac{\\pi}{2}",
    "||v|| = \\sqrt{5} || w",
    "1,234.5 dollars & 50%",
    "$\\left[0, 1\\right)$\nor so",
  ])("takes the whole answer %j as one action where nothing separates", (text) => {
    const reading = parse(`<think>t</think><answer> ${text} </answer>`, { ...think, separator: null });
    expect(reading.actions).toEqual([text]);
    expect(reading.canonical).toBe(`<think>t</think><answer>${text}</answer>`);
  });

  it("names nothing in an empty whole answer", () => {
    expect(parse("<answer>  </answer>", { ...noThink, separator: null })).toMatchObject({ parsed: true, actions: [] });
  });

  const fragment = fc.constantFrom(
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "<|im_end|>",
    "||",
    " ",
    "\n",
    "Up",
    "<th",
    "ink>",
  );
  const soup = fc.array(fc.oneof({ weight: 4, arbitrary: fragment }, fc.string({ maxLength: 4 })), { maxLength: 16 });

  it("finds what the lazy pattern finds, in any text", () => {
    assertProperty(
      fc.property(soup, fc.boolean(), (pieces, thinking) => {
        const reply = pieces.join("");
        const pattern = thinking
          ? /<think>([\s\S]*?)<\/think>\s*<answer>([\s\S]*?)<\/answer>/
          : /<answer>([\s\S]*?)<\/answer>/;
        expect(parse(reply, thinking ? think : noThink).parsed).toBe(pattern.test(reply));
      }),
      { numRuns: 500 },
    );
  });

  it("reads its canonical reply back to the same reading", () => {
    const word = fc.stringMatching(/^[A-Za-z ().,0-9]{0,8}$/);
    assertProperty(
      fc.property(word, fc.array(word, { maxLength: 5 }), (thought, named) => {
        const first = parse(`<think>${thought}</think><answer>${named.join("||")}</answer>`, think);
        expect({ ...parse(first.canonical, think), span: first.span }).toEqual(first);
      }),
    );
  });

  it("never names more than the limit, nor an empty or untrimmed action", () => {
    assertProperty(
      fc.property(soup, fc.integer({ min: 1, max: 4 }), (pieces, maxActions) => {
        const { actions } = parse(pieces.join(""), { think: false, separator: "||", maxActions });
        expect(actions.length).toBeLessThanOrEqual(maxActions);
        expect(actions.every((action) => action !== "" && action === action.trim())).toBe(true);
      }),
    );
  });

  it("stays linear on a reply made to slow it", () => {
    const reply = `<think>${"</think>".repeat(100_000)}${" ".repeat(100_000)}`;
    expect(parse(reply, think).parsed).toBe(false);
  });
});
