import { describe, expect, it } from "vitest";
import type { ModelCall, Recall } from "../../../src/agents/dialects/Dialect.ts";
import { messages as dialect } from "../../../src/agents/dialects/messages.ts";
import {
  callIn,
  earlierAnswer,
  eventsIn,
  messagesIn,
  problemIn,
  refusalIn,
  textAnswer,
  toolAnswer,
} from "./answers.ts";
import { meaning, messagesBodies } from "./bodies.ts";

const user = { role: "user", content: "Hi." };
const plain = { model: "policy", max_tokens: 99, messages: [user] };
const weather = { name: "weather", input_schema: {} };
const call = (more: object): ModelCall => callIn(dialect, { ...plain, ...more });
const refusal = (more: object): string => refusalIn(dialect, { ...plain, ...more });

describe("the messages dialect", () => {
  it.each(Object.entries(messagesBodies))("reads the messages and the tool of %s", (_client, body) => {
    const { conversation } = callIn(dialect, body);
    expect(conversation.messages).toEqual(meaning);
    expect(conversation.tools).toEqual([
      { name: "weather", description: "Degrees.", parameters: body.tools[0]?.input_schema },
    ]);
  });

  it("reads the user's blocks in their order: runs of text, and tool results of their own", () => {
    const text = (value: string) => ({ type: "text", text: value });
    const result = (id: string) => ({ type: "tool_result", tool_use_id: id });
    const content = [text("a"), text("b"), result("1"), result("2"), text("c")];
    expect(messagesIn(dialect, { messages: [{ role: "user", content }] })).toEqual([
      { role: "user", text: "a\nb" },
      { role: "tool", call: "1", text: "" },
      { role: "tool", call: "2", text: "" },
      { role: "user", text: "c" },
    ]);
  });

  it("keeps an empty message of the user, and a message of the system among the others", () => {
    const given = [user, { role: "system", content: "Hurry." }, { role: "user", content: [] }];
    expect(messagesIn(dialect, { messages: given }).map(({ role, text }) => [role, text])).toEqual([
      ["user", "Hi."],
      ["system", "Hurry."],
      ["user", ""],
    ]);
  });

  it("goes on with the thread of an answer: with its tools, and without the system text and messages before", () => {
    const tools = [{ name: "weather", description: "", parameters: {} }];
    const recall: Recall = (id) => (id === "a2" ? earlierAnswer(toolAnswer, tools) : null);
    const thread = { type: "continue", previous_message_id: "msg_a2" };
    const result = { type: "tool_result", tool_use_id: "call_1", content: "20" };
    const body = { max_tokens: 9, thread, messages: [{ role: "user", content: [result] }] };
    const next = callIn(dialect, { ...body, tool_choice: { type: "tool", name: "weather" } }, recall);
    expect([next.previous, next.conversation]).toEqual([
      "a2",
      { tools, messages: [{ role: "tool", call: "call_1", text: "20" }] },
    ]);
    const begun = call({ thread: { type: "create" }, tools: [weather] });
    expect([begun.previous, begun.conversation.tools.length]).toEqual([null, 1]);
    const refusals = [
      { ...body, thread: { ...thread, previous_message_id: "msg_a3" } },
      { ...body, thread: { type: "continue" } },
      { ...body, thread: { type: "end" } },
      { ...body, system: "Be kind." },
      { ...body, tools: [weather] },
    ].map((refused) => problemIn(dialect, refused, recall).message);
    expect(refusals).toEqual([
      "thread.previous_message_id: this episode has no such answer; send the whole conversation",
      "thread.previous_message_id: must be a text that is not empty",
      "thread.type: must be create or continue",
      "system: stands in the call that began the thread; leave it out",
      "tools: stands in the call that began the thread; leave it out",
    ]);
  });

  it("reads the wishes", () => {
    const wishes = { temperature: 0.5, top_p: 0.9, top_k: 20, stop_sequences: ["END"] };
    expect(call(wishes).wishes).toEqual({ temperature: 0.5, topP: 0.9, topK: 20, maxTokens: 99, stop: ["END"] });
    const { neverGranted } = call({ tool_choice: { type: "auto", disable_parallel_tool_use: true } }).wishes;
    expect(neverGranted).toEqual(["one tool call a reply"]);
  });

  it("reads the choice of tools in each form", () => {
    const choice = (value: unknown) => call({ tools: [weather], tool_choice: value }).toolChoice;
    expect(["auto", "none", "any"].map((type) => choice({ type }))).toEqual(["auto", "none", "required"]);
    expect(choice({ type: "tool", name: "weather" })).toEqual({ name: "weather" });
    expect(choice(undefined)).toBe("auto");
  });

  it("says what is wrong with a field, one sentence each", () => {
    const content = (block: object) => refusal({ messages: [{ role: "user", content: [block] }] });
    expect(content({ type: "image" })).toBe("messages[0].content[0]: an image cannot be read; send text");
    expect(content({ type: "document" })).toBe("messages[0].content[0]: a document cannot be read; send text");
    expect(content({ type: "tool_result", tool_use_id: "1", content: [{ type: "image" }] })).toBe(
      "messages[0].content[0].content[0]: an image cannot be read; send text",
    );
    expect(content({ type: "tool_result" })).toBe(
      "messages[0].content[0].tool_use_id: must be a text that is not empty",
    );
    expect(refusal({ messages: [{ role: "tool", content: "x" }] })).toBe(
      "messages[0].role: must be user, assistant or system",
    );
    expect(refusal({ system: 3 })).toBe("system: must be a text or a list of parts");
    expect(refusal({ tool_choice: { type: "some" } })).toBe("tool_choice.type: must be auto, any, tool or none");
  });

  it("refuses what is not served, and says what to do", () => {
    expect(refusal({ messages: [user, { role: "assistant", content: "I" }] })).toBe(
      "messages: end with a reply, which cannot be continued; end them with a message of the user",
    );
    expect(refusal({ tools: [{ type: "web_search_20250305", name: "web_search" }] })).toContain(
      'tools[0]: a tool of type "web_search_20250305" is not served',
    );
    expect(refusal({ output_config: { format: { type: "json_schema" } } })).toContain("output_config.format: ");
    expect(call({ output_config: { effort: "low" }, thinking: { type: "enabled" } })).toEqual(call({}));
  });

  type StreamEvent = { readonly type: string; readonly [field: string]: unknown };
  const usage = (reply: number) => ({
    input_tokens: 10,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: reply,
  });
  const head = (id: string) => ({ id, type: "message", role: "assistant", model: "policy" });
  const ending = (stop_reason: string | null) => ({ stop_reason, stop_sequence: null });
  const tool = { type: "tool_use", id: "call_1", name: "weather", caller: { type: "direct" } };
  /** Events of a stream, named by their types. */
  const named = (events: readonly StreamEvent[]) => events.map((event) => ({ event: event.type, data: event }));

  it("answers with a text", () => {
    expect(dialect.answer(textAnswer, call({}))).toEqual({
      ...head("msg_a1"),
      content: [{ type: "text", text: "It is sunny.", citations: null }],
      ...ending("end_turn"),
      usage: usage(5),
    });
  });

  it("answers with thoughts and a tool call, without a text", () => {
    expect(dialect.answer(toolAnswer, call({}))).toEqual({
      ...head("msg_a2"),
      content: [
        { type: "thinking", thinking: "The forecast knows.", signature: "a2" },
        { ...tool, input: { city: "Paris" } },
      ],
      ...ending("tool_use"),
      usage: usage(5),
    });
  });

  it("answers with an empty text where the reply is empty, and says that it ended at its limit", () => {
    const answer = dialect.answer({ ...textAnswer, text: "", finish: "length" }, call({}));
    expect(answer).toMatchObject({ content: [{ type: "text", text: "" }], stop_reason: "max_tokens" });
  });

  it("streams a text", () => {
    expect(eventsIn(dialect.stream(textAnswer, call({})))).toEqual(
      named([
        { type: "message_start", message: { ...head("msg_a1"), content: [], ...ending(null), usage: usage(0) } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "", citations: null } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "It is sunny." } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: ending("end_turn"), usage: usage(5) },
        { type: "message_stop" },
      ]),
    );
  });

  it("streams thoughts and a tool call", () => {
    const thinking = { type: "thinking", thinking: "", signature: "" };
    expect(eventsIn(dialect.stream(toolAnswer, call({})))).toEqual(
      named([
        { type: "message_start", message: { ...head("msg_a2"), content: [], ...ending(null), usage: usage(0) } },
        { type: "content_block_start", index: 0, content_block: thinking },
        { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "The forecast knows." } },
        { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "a2" } },
        { type: "content_block_stop", index: 0 },
        { type: "content_block_start", index: 1, content_block: { ...tool, input: {} } },
        {
          type: "content_block_delta",
          index: 1,
          delta: { type: "input_json_delta", partial_json: '{"city":"Paris"}' },
        },
        { type: "content_block_stop", index: 1 },
        { type: "message_delta", delta: ending("tool_use"), usage: usage(5) },
        { type: "message_stop" },
      ]),
    );
  });
});
