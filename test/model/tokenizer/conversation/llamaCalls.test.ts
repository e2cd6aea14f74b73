/** Replies in the form of Llama 3: one JSON object, or text. */
import { describe, expect, it } from "vitest";
import { readLlama } from "../../../../src/model/tokenizer/conversation/calls/llamaCalls.ts";
import { tools } from "./tools.ts";

const saying = '{"name": "say", "parameters": {"text": "a"}}';
const calls = [{ name: "say", arguments: { text: "a" } }];

describe("a reply in the form of Llama 3", () => {
  it.each([saying, `<|python_tag|>${saying}`, ` \n${saying}\n`])("is a call: %s", (reply) => {
    expect(readLlama(reply, tools)).toEqual({ text: "", calls, problems: [] });
  });

  it.each(["Hello.", `I call ${saying}`, '{"answer": 1}', "[1]", "{"])("is text: %s", (reply) => {
    expect(readLlama(reply, tools)).toEqual({ text: reply, calls: [], problems: [] });
  });

  it.each([
    [`${saying}; ${saying}`, "no single JSON object"],
    ['{"name": "say", "parameters": {"te', "no single JSON object"],
    ['{"name": "say", "parameters": [1]}', "no single JSON object"],
    ["<|python_tag|>say(1)", "no single JSON object"],
    ['{"name": "jump", "parameters": {}}', "no tool of this call"],
  ])("stays text and says why: %s", (reply, reason) => {
    const { problems, ...rest } = readLlama(reply, tools);
    expect(rest).toEqual({ text: reply, calls: [] });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(reason);
  });

  it("is text where no tools are offered", () => {
    expect(readLlama(saying, [])).toEqual({ text: saying, calls: [], problems: [] });
  });
});
