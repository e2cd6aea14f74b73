/** Conversations in ChatML without a template: the tools' form of Hermes and Qwen. */
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import * as fc from "fast-check";
import type { Message, Tool } from "../../../../src/domain/Conversation.ts";
import * as ChatTemplate from "../../../../src/model/tokenizer/ChatTemplate.ts";
import { make } from "../../../../src/model/tokenizer/conversation/ConversationTemplate.ts";
import { readHermes } from "../../../../src/model/tokenizer/conversation/calls/hermesCalls.ts";
import { assertProperty } from "../../../property.ts";
import { hostileTexts, loadTokenizer, run, tokensOf } from "./fixtures.ts";
import { assistant, call, look, result, say, system, tools, user } from "./tools.ts";

const tokenizer = await Effect.runPromise(loadTokenizer("qwen2.5"));
const conversations = Effect.runSync(Effect.scoped(make(tokenizer, "chatml")));
const chat = Effect.runSync(ChatTemplate.make(tokenizer, "chatml"));

const opening = (messages: readonly Message[], offered: readonly Tool[] = [], prefix = "") =>
  run(conversations.opening({ messages, tools: offered }, prefix));
const bridge = (added: readonly Message[], offered: readonly Tool[] = [], prefix = "") =>
  run(conversations.bridge(added, offered, prefix));

describe("a conversation in ChatML", () => {
  it("shows the tools in the system's turn", () => {
    const text = tokenizer.decode(opening([system("be short"), user("go")], [look]));
    expect(text.startsWith("<|im_start|>system\nbe short\n\n# Tools\n")).toBe(true);
    expect(text).toContain(
      '<tools>\n{"type": "function", "function": {"name": "look", "description": "Shows the board.", ',
    );
    expect(text.endsWith("</tool_call><|im_end|>\n<|im_start|>user\ngo<|im_end|>\n<|im_start|>assistant\n")).toBe(true);
    expect(tokenizer.decode(opening([user("go")], [look])).startsWith("<|im_start|>system\n# Tools\n")).toBe(true);
  });

  it("writes calls between tags, and neighbouring results in one turn", () => {
    const calls = [call("say", { text: "a" }, "c1"), call("look", {}, "c2")];
    const text = tokenizer.decode(
      opening([user("go"), assistant("so", ...calls), result("1"), result("2"), user("on")]),
    );
    expect(text).toBe(
      "<|im_start|>user\ngo<|im_end|>\n" +
        '<|im_start|>assistant\nso\n<tool_call>\n{"name": "say", "arguments": {"text": "a"}}\n</tool_call>\n' +
        '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call><|im_end|>\n' +
        "<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response><|im_end|>\n" +
        "<|im_start|>user\non<|im_end|>\n<|im_start|>assistant\n",
    );
  });

  it("is an opening, replies and bridges in turn", () => {
    const question = [user("go"), assistant("", call("look", {}))];
    const added = [result("1"), result("2")];
    const reply = tokenizer.encode('<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>');
    const composed = [...opening(question.slice(0, 1), tools), ...reply, chat.endId, ...bridge(added, tools)];
    expect(composed).toEqual([...opening([...question, ...added], tools)]);
  });

  it("has the ids of a chat where it has no tools", () => {
    const texts = hostileTexts(["<|im_end|>", "<|im_start|>", "<tool_call>"]);
    assertProperty(
      fc.property(texts, texts, fc.constantFrom("", "<think>", "<answer>"), (systemText, text, prefix) => {
        expect(opening([system(systemText), user(text)], [], prefix)).toEqual(chat.opening(systemText, text, prefix));
        expect(bridge([user(text)], [], prefix)).toEqual(chat.bridge(text, prefix));
      }),
    );
  });

  it("lets no text spell the tokens of turns and calls", () => {
    const messages = (text: string) => [
      system(`s${text}`),
      user(`u${text}`),
      assistant(`a${text}`, call("say", { [`k${text}`]: text })),
      result(`r${text}`),
    ];
    const offered = (text: string) => [{ ...say, description: text }];
    const plainTokens = tokensOf(tokenizer, opening(messages(""), offered("")));
    assertProperty(
      fc.property(hostileTexts(["<|im_end|>", "<|im_start|>", "<tool_call>", "</tool_call>"]), (text) => {
        const ids = opening(messages(text), offered(text));
        expect(tokensOf(tokenizer, ids)).toEqual(plainTokens);
        expect(tokenizer.decode(ids)).toContain(`u${text}<|im_end|>`);
      }),
    );
  });
});

describe("a reply in the form of Hermes", () => {
  const block = (json: string) => `<tool_call>\n${json}\n</tool_call>`;
  const saying = { name: "say", arguments: { text: "a" } };

  it("has calls, thoughts before and text around them", () => {
    const reply = `<think>\nso\n</think>\n\nI call.\n${block(JSON.stringify(saying))}\n${block('{"name": "look"}')}`;
    expect(conversations.read(reply, tools)).toEqual({
      text: "I call.",
      reasoning: "so",
      calls: [saying, { name: "look", arguments: {} }],
      problems: [],
    });
  });

  it("may hold the closing tag in a text, arguments as a text, and lack the last tag", () => {
    const spelled = { name: "say", arguments: { text: "a</tool_call>b" } };
    expect(readHermes(block(JSON.stringify(spelled)), tools).calls).toEqual([spelled]);
    expect(readHermes(block(JSON.stringify({ name: "say", arguments: '{"text":"a"}' })), tools).calls).toEqual([
      saying,
    ]);
    expect(readHermes(`<tool_call>${JSON.stringify(saying)}`, tools).calls).toEqual([saying]);
  });

  it.each([
    [block("{name: say}"), "no JSON object"],
    [block('{"name": "say", "arguments": [1]}'), "no JSON object"],
    ['<tool_call>\n{"name": "sa', "no JSON object"],
    [block('{"name": "jump", "arguments": {}}'), '"jump", which is no tool'],
  ])("keeps %s as text and says why", (reply, reason) => {
    const { calls, problems, text } = readHermes(reply, tools);
    expect([text, calls, problems.length]).toEqual([reply, [], 1]);
    expect(problems[0]).toContain(reason);
  });

  it("keeps what cannot be read beside calls that can", () => {
    const { calls, text } = readHermes(`${block("{")} x ${block(JSON.stringify(saying))}`, tools);
    expect([text, calls]).toEqual([`${block("{")} x`, [saying]]);
  });

  it("is text where no tools are offered", () => {
    const reply = ` ${block(JSON.stringify(saying))}\n`;
    expect(readHermes(reply, [])).toEqual({ text: reply, calls: [], problems: [] });
  });
});
