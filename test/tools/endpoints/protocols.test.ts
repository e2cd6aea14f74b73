import { describe, expect, it } from "vitest";
import { anthropic } from "../../../src/tools/endpoints/anthropic.ts";
import { openai } from "../../../src/tools/endpoints/openai.ts";
import { completion } from "./standIn.ts";

const messages = [
  { role: "system", content: "Rules." },
  { role: "user", content: "State." },
  { role: "assistant", content: "" },
  { role: "user", content: "Next." },
] as const;
const request = { model: "m", messages, temperature: 0.5, maxTokens: 64, extra: { top_p: 0.9 } };

const tool = { name: "add", description: "Adds.", parameters: { type: "object", properties: {} } };
const calls = [
  { id: "c 1", name: "add", arguments: { a: 1 } },
  { id: "c2", name: "add", arguments: "no json" },
];
const conversation = {
  ...request,
  extra: {},
  messages: [
    { role: "user", content: "1 + 1" },
    { role: "assistant", content: "", calls },
    { role: "tool", content: "2", call: "c 1" },
    { role: "tool", content: "", call: "c2" },
    { role: "user", content: "And now?" },
    { role: "assistant", content: "Once more.", calls: [{ id: "c3", name: "add", arguments: [1] }] },
    { role: "tool", content: "3", call: "c3" },
  ],
  tools: { list: [tool], choice: { name: "add" } },
  sampling: { topP: 0.9, topK: 5, seed: 7, stop: ["END"] },
} as const;

describe("OpenAI's protocol", () => {
  it("sends the chat as it is, and further fields", () => {
    expect(openai.body(request)).toEqual({ model: "m", messages, temperature: 0.5, max_tokens: 64, top_p: 0.9 });
  });

  it("leaves out what is not to be sent", () => {
    expect(openai.body({ ...request, temperature: null, maxTokens: null, extra: {} })).toEqual({
      model: "m",
      messages,
    });
  });

  it("reads text, end and tokens", () => {
    expect(openai.read(completion({ text: "hi", finish: "length", prompt: 3, tokens: 2 }))).toEqual({
      text: "hi",
      finish: "length",
      usage: { prompt: 3, reply: 2 },
    });
    expect(openai.read(completion({ text: "", finish: "content_filter" }))?.finish).toBe("filtered");
  });

  it("takes a reply without text, and one that was not counted", () => {
    const body = { choices: [{ message: { role: "assistant", content: null }, finish_reason: "stop" }] };
    expect(openai.read(body)).toEqual({ text: "", finish: "stop", usage: null });
  });

  it("takes a text in parts", () => {
    const content = [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    expect(openai.read({ choices: [{ message: { content } }] })?.text).toBe("ab");
  });

  it("reads nothing out of another shape", () => {
    for (const body of [null, {}, { choices: [] }, { error: { message: "no" } }, "text"])
      expect(openai.read(body)).toBe(null);
  });

  it("sends tools, tool calls, their results and an agent's sampling", () => {
    const called = (id: string, values: string) => ({
      id,
      type: "function",
      function: { name: "add", arguments: values },
    });
    expect(openai.body(conversation)).toEqual({
      model: "m",
      messages: [
        { role: "user", content: "1 + 1" },
        { role: "assistant", content: null, tool_calls: [called("c 1", '{"a":1}'), called("c2", "no json")] },
        { role: "tool", tool_call_id: "c 1", content: "2" },
        { role: "tool", tool_call_id: "c2", content: "" },
        { role: "user", content: "And now?" },
        { role: "assistant", content: "Once more.", tool_calls: [called("c3", "[1]")] },
        { role: "tool", tool_call_id: "c3", content: "3" },
      ],
      tools: [{ type: "function", function: tool }],
      tool_choice: { type: "function", function: { name: "add" } },
      temperature: 0.5,
      max_tokens: 64,
      top_p: 0.9,
      seed: 7,
      stop: ["END"],
    });
    const choices = (["auto", "none", "required"] as const).map((choice) =>
      openai.body({ ...conversation, tools: { list: [tool], choice } }),
    );
    expect(choices.map((body) => ("tool_choice" in body ? body.tool_choice : null))).toEqual([
      null,
      "none",
      "required",
    ]);
  });

  it("reads tool calls, arguments that are no JSON too", () => {
    const called = (id: string | null, values: string) => ({ id, function: { name: "add", arguments: values } });
    const message = { content: null, tool_calls: [called("x", '{"a":1}'), called(null, '{"a"'), called("y", "")] };
    expect(openai.read({ choices: [{ message, finish_reason: "tool_calls" }] })).toEqual({
      text: "",
      calls: [
        { id: "x", name: "add", arguments: { a: 1 } },
        { id: "call_1", name: "add", arguments: '{"a"' },
        { id: "y", name: "add", arguments: {} },
      ],
      finish: "stop",
      usage: null,
    });
  });

  it("sends a key where there is one", () => {
    expect(openai.headers("k")).toEqual({ authorization: "Bearer k" });
    expect(openai.headers(null)).toEqual({});
  });
});

describe("Anthropic's protocol", () => {
  it("sends the system text beside the chat, and no empty message", () => {
    expect(anthropic.body(request)).toEqual({
      model: "m",
      system: "Rules.",
      messages: [
        { role: "user", content: "State." },
        { role: "assistant", content: "(empty)" },
        { role: "user", content: "Next." },
      ],
      temperature: 0.5,
      max_tokens: 64,
      top_p: 0.9,
    });
  });

  it("reads text, end and tokens, those of a cache too", () => {
    const body = {
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
      stop_reason: "max_tokens",
      usage: { input_tokens: 5, output_tokens: 7, cache_read_input_tokens: 100, cache_creation_input_tokens: null },
    };
    expect(anthropic.read(body)).toEqual({ text: "ab", finish: "length", usage: { prompt: 105, reply: 7 } });
  });

  it("sends tools, tool calls and an agent's sampling, all results of a reply in one message", () => {
    const result = (id: string, content: string) => ({ type: "tool_result", tool_use_id: id, content });
    expect(anthropic.body(conversation)).toEqual({
      model: "m",
      messages: [
        { role: "user", content: "1 + 1" },
        {
          role: "assistant",
          content: [
            { type: "tool_use", id: "c_1", name: "add", input: { a: 1 } },
            { type: "tool_use", id: "c2", name: "add", input: { arguments: "no json" } },
          ],
        },
        {
          role: "user",
          content: [result("c_1", "2"), result("c2", "(empty)"), { type: "text", text: "And now?" }],
        },
        {
          role: "assistant",
          content: [
            { type: "text", text: "Once more." },
            { type: "tool_use", id: "c3", name: "add", input: { arguments: [1] } },
          ],
        },
        { role: "user", content: [result("c3", "3")] },
      ],
      tools: [{ name: "add", description: "Adds.", input_schema: tool.parameters }],
      tool_choice: { type: "tool", name: "add" },
      temperature: 0.5,
      max_tokens: 64,
      top_p: 0.9,
      top_k: 5,
      stop_sequences: ["END"],
    });
    const choices = (["auto", "none", "required"] as const).map((choice) =>
      anthropic.body({ ...conversation, tools: { list: [tool], choice } }),
    );
    expect(choices.map((body) => ("tool_choice" in body ? body.tool_choice : null))).toEqual([
      null,
      { type: "none" },
      { type: "any" },
    ]);
  });

  it("reads tool calls beside a text", () => {
    const content = [
      { type: "text", text: "Let me see." },
      { type: "tool_use", id: "t1", name: "add", input: { a: 1 } },
    ];
    expect(anthropic.read({ content, stop_reason: "tool_use" })).toEqual({
      text: "Let me see.",
      calls: [{ id: "t1", name: "add", arguments: { a: 1 } }],
      finish: "stop",
      usage: null,
    });
  });

  it("calls a refusal filtered", () => {
    expect(anthropic.read({ content: [], stop_reason: "refusal" })).toEqual({
      text: "",
      finish: "filtered",
      usage: null,
    });
  });

  it("reads nothing out of another shape", () => {
    for (const body of [null, {}, { type: "error", error: { type: "overloaded_error" } }])
      expect(anthropic.read(body)).toBe(null);
  });
});
