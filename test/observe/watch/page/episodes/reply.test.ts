/** Thought and answer are found among the tokens of a reply, whatever the tokens' borders. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { partsOf, textParts } from "../../../../../src/observe/watch/page/episodes/reply.ts";
import { parse } from "../../../../../src/rollout/parse.ts";
import { assertProperty } from "../../../../property.ts";

const pieces = ["go", " up", "</think>", " ", "<answer>", "Up", "</answer>", "<|im_end|>"];
const reply = "<think>go up</think> <answer>Up</answer>";

describe("the parts of a reply", () => {
  it("are the thought, the answer from its tag on, and which tokens are markup", () => {
    const parts = partsOf(reply, pieces);
    expect(parts).toMatchObject({ prefix: "<think>", answerFrom: 4, thinks: true });
    expect(parts.markup).toEqual([false, false, true, true, true, false, true, true]);
  });

  it("are found in a reply without an end token, too", () => {
    expect(partsOf(reply, pieces.slice(0, -1))).toMatchObject({ prefix: "<think>", answerFrom: 4 });
  });

  it("are an answer alone where no thought is asked for", () => {
    const parts = partsOf("<answer>Up</answer>", ["Up", "</answer>"]);
    expect(parts).toMatchObject({ prefix: "<answer>", thinks: false, answerFrom: 0 });
  });

  it("are one where the reply has not the form", () => {
    expect(partsOf("<think>go up and up", ["go", " up and up"])).toMatchObject({ thinks: true, answerFrom: null });
  });

  it("are both there exactly where the parser reads a thought and an answer begun", () => {
    const texts = fc.array(fc.constantFrom("a", " ", "</think>", "<answer>", "Up", "</answer>", "<think>"), {
      maxLength: 9,
    });
    assertProperty(
      fc.property(texts, (tokens) => {
        const text = `<think>${tokens.join("")}`;
        const { parsed } = parse(text, { think: true, separator: "||", maxActions: 1 });
        if (parsed) expect(partsOf(text, tokens).answerFrom).not.toBeNull();
      }),
    );
  });

  it("cut a text without tokens as well", () => {
    expect(textParts(reply)).toEqual({ thought: "go up", answer: "Up" });
    expect(textParts("<answer>Up</answer>")).toEqual({ thought: "", answer: "Up" });
    expect(textParts("go up")).toBeNull();
  });
});
