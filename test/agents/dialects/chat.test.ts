import { describe, expect, it } from "vitest";
import { chat } from "../../../src/agents/dialects/chat.ts";
import type { ModelCall } from "../../../src/agents/dialects/Dialect.ts";
import { callIn, eventsIn, messagesIn, refusalIn, textAnswer, toolAnswer } from "./answers.ts";
import { chatBodies, meaning } from "./bodies.ts";

const user = { role: "user", content: "Hi." };
const plain = { model: "policy", messages: [user] };
const weather = { type: "function", function: { name: "weather" } };
const call = (more: object): ModelCall => callIn(chat, { ...plain, ...more });
const refusal = (more: object): string => refusalIn(chat, { ...plain, ...more });

describe("chat completions", () => {
  it.each(Object.entries(chatBodies))("reads the messages and the tool of %s", (_client, body) => {
    const { conversation } = callIn(chat, body);
    expect(conversation.messages).toEqual(meaning);
    expect(conversation.tools).toEqual([
      { name: "weather", description: "Degrees.", parameters: body.tools[0]?.function.parameters },
    ]);
  });

  it("reads the wishes, and leaves out those that are null", () => {
    const wishes = { temperature: 0.5, top_p: 0.9, top_k: 20, seed: 7, max_completion_tokens: 99, stop: "END" };
    expect(call(wishes).wishes).toEqual({
      temperature: 0.5,
      topP: 0.9,
      topK: 20,
      seed: 7,
      maxTokens: 99,
      stop: ["END"],
    });
    expect(call({ temperature: null, max_tokens: null, stop: null, top_k: -1 }).wishes).toEqual({ stop: [] });
    expect(call({ stop: ["A", "B"], max_tokens: 5 }).wishes).toEqual({ stop: ["A", "B"], maxTokens: 5 });
  });

  it.each<[object, readonly string[] | undefined]>([
    [{ frequency_penalty: 0.5, presence_penalty: -1 }, ["frequency_penalty 0.5", "presence_penalty -1"]],
    [{ frequency_penalty: 0, presence_penalty: null, logit_bias: {}, logprobs: false }, undefined],
    [{ logit_bias: { 50256: -100 } }, ["logit_bias"]],
    [{ parallel_tool_calls: false }, ["one tool call a reply"]],
    [{ parallel_tool_calls: true }, undefined],
    [{ logprobs: true, top_logprobs: 2 }, ["logprobs (answers have none)"]],
  ])("reads wishes that no run grants: %j", (wishes, words) => {
    expect(call(wishes).wishes.neverGranted).toEqual(words);
  });

  it("reads the choice of tools in each form", () => {
    const choice = (value: unknown) => call({ tools: [weather], tool_choice: value }).toolChoice;
    expect(["auto", "none", "required", null].map(choice)).toEqual(["auto", "none", "required", "auto"]);
    expect(choice({ type: "function", function: { name: "weather" } })).toEqual({ name: "weather" });
  });

  it("gives a tool without a description or parameters empty ones", () => {
    expect(call({ tools: [weather] }).conversation.tools).toEqual([
      { name: "weather", description: "", parameters: { type: "object", properties: {} } },
    ]);
  });

  it("reads null content beside tool calls, and keeps arguments that are no JSON as a text", () => {
    const called = (args: unknown) => ({ id: "c", type: "function", function: { name: "f", arguments: args } });
    const tool_calls = [called('{"a": '), called(""), called({ a: 1 }), called('"text"')];
    const messages = [{ role: "assistant", content: null, tool_calls }, user];
    expect(messagesIn(chat, { messages })[0]).toMatchObject({
      text: "",
      calls: ['{"a": ', {}, { a: 1 }, "text"].map((value) => ({ arguments: value })),
    });
  });

  it("joins parts of a prompt by lines, those of a reply directly, and drops thoughts", () => {
    const content = [
      { type: "text", text: "a" },
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "b" },
    ];
    const messages = [
      { role: "user", content },
      { role: "assistant", content },
      { role: "user", content },
    ];
    expect(messagesIn(chat, { messages }).map(({ text }) => text)).toEqual(["a\nb", "ab", "a\nb"]);
  });

  it("names the part of a content that is no text", () => {
    const part = (content: object) => refusal({ messages: [user, { role: "user", content: [content] }] });
    expect(part({ type: "image_url", image_url: { url: "x" } })).toBe(
      "messages[1].content[0]: an image cannot be read; send text",
    );
    expect(part({ type: "input_audio" })).toBe("messages[1].content[0]: audio cannot be read; send text");
    expect(part({ type: "file" })).toBe("messages[1].content[0]: a file cannot be read; send text");
    expect(part({ type: "constructor" })).toBe(
      'messages[1].content[0]: a part of type "constructor" cannot be read; send text',
    );
  });

  it("says what is wrong with a field, one sentence each", () => {
    expect(refusalIn(chat, [])).toBe("the body must be a JSON object");
    expect(refusalIn(chat, {})).toBe("messages: must be a list");
    expect(refusal({ messages: [] })).toBe("messages: must have a message");
    expect(refusal({ messages: [3] })).toBe("messages[0]: must be an object");
    expect(refusal({ messages: [{ role: "user" }] })).toBe("messages[0].content: must be a text or a list of parts");
    expect(refusal({ messages: [{ role: "bot" }] })).toBe(
      "messages[0].role: must be system, developer, user, assistant or tool",
    );
    expect(refusal({ messages: [{ role: "tool", content: "x" }] })).toBe(
      "messages[0].tool_call_id: must be a text that is not empty",
    );
    expect(refusal({ temperature: "hot" })).toBe("temperature: must be a number of at least 0");
    expect(refusal({ max_tokens: 0 })).toBe("max_tokens: must be a whole number of at least 1");
    expect(refusal({ stop: [""] })).toBe("stop[0]: must be a text that is not empty");
    const [half, many] = ["x".repeat(513), Array.from({ length: 1_025 }, () => "x")];
    const sentence = (length: number) => `has ${length} characters; stop texts have 1024 at most`;
    expect(refusal({ stop: [half, half] })).toBe(`stop: ${sentence(1_026)}`);
    expect(refusal({ stop_sequences: many })).toBe(`stop_sequences: ${sentence(1_025)}`);
    expect(refusal({ stream: "yes" })).toBe("stream: must be true or false");
  });

  it("refuses what is not served, and says what to do", () => {
    expect(refusal({ n: 2 })).toBe("n: must be 1, since a call has one reply; ask again for another sample");
    expect(refusal({ response_format: { type: "json_object" } })).toBe(
      "response_format: is not served; ask for text and parse it",
    );
    expect(refusal({ functions: [{ name: "f" }] })).toBe("functions: is not served; send tools");
    expect(refusal({ tools: [{ type: "web_search" }] })).toBe(
      'tools[0]: a tool of type "web_search" is not served; send functions that the client runs',
    );
  });

  it("lets fields through that ask for nothing or are unknown", () => {
    const more = { n: 1, response_format: { type: "text" }, functions: [], audio: null, user: "me" };
    expect(call(more)).toEqual(call({}));
  });

  it("refuses a choice that the tools cannot meet", () => {
    expect(refusal({ tool_choice: "required" })).toBe("tool_choice: a call is required and tools has none");
    expect(refusal({ tools: [weather], tool_choice: { type: "function", function: { name: "news" } } })).toBe(
      'tool_choice: tools has none named "news"',
    );
  });

  it("answers with a text", () => {
    expect(chat.answer(textAnswer, call({}))).toEqual({
      id: "chatcmpl-a1",
      object: "chat.completion",
      created: 1_700_000_000,
      model: "policy",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "It is sunny.", refusal: null },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    });
  });

  it("answers with thoughts and a tool call, without content", () => {
    expect(chat.answer(toolAnswer, call({}))).toMatchObject({
      choices: [
        {
          message: {
            content: null,
            reasoning_content: "The forecast knows.",
            tool_calls: [
              { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } },
            ],
          },
          finish_reason: "tool_calls",
        },
      ],
    });
  });

  const chunk = (id: string, delta: object, finish_reason: string | null = null) => ({
    data: {
      id,
      object: "chat.completion.chunk",
      created: 1_700_000_000,
      model: "policy",
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    },
  });

  it("streams a text", () => {
    expect(eventsIn(chat.stream(textAnswer, call({})))).toEqual([
      chunk("chatcmpl-a1", { role: "assistant", content: "", refusal: null }),
      chunk("chatcmpl-a1", { content: "It is sunny." }),
      chunk("chatcmpl-a1", {}, "stop"),
      { data: "[DONE]" },
    ]);
  });

  it("streams thoughts and a tool call", () => {
    const head = { index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "" } };
    expect(eventsIn(chat.stream(toolAnswer, call({})))).toEqual([
      chunk("chatcmpl-a2", { role: "assistant", content: null, refusal: null }),
      chunk("chatcmpl-a2", { reasoning_content: "The forecast knows." }),
      chunk("chatcmpl-a2", { tool_calls: [head] }),
      chunk("chatcmpl-a2", { tool_calls: [{ index: 0, function: { arguments: '{"city":"Paris"}' } }] }),
      chunk("chatcmpl-a2", {}, "tool_calls"),
      { data: "[DONE]" },
    ]);
  });

  it("streams the usage in a chunk of its own where it is asked for", () => {
    const streamed = eventsIn(chat.stream(textAnswer, call({ stream_options: { include_usage: true } })));
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    expect(streamed.slice(0, -2).every(({ data }) => (data as { usage: unknown }).usage === null)).toBe(true);
    expect(streamed.at(-2)).toMatchObject({ data: { choices: [], usage } });
  });
});
