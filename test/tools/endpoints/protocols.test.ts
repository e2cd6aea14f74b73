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
