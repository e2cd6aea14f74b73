import { describe, expect, it } from "vitest";
import type { ModelCall, Recall } from "../../../src/agents/dialects/Dialect.ts";
import { responses } from "../../../src/agents/dialects/responses.ts";
import { callIn, earlierAnswer, eventsIn, messagesIn, refusalIn, replyOf, textAnswer, toolAnswer } from "./answers.ts";
import { meaning, responsesBodies } from "./bodies.ts";

const plain = { model: "policy", input: "Hi." };
const call = (more: object): ModelCall => callIn(responses, { ...plain, ...more });
const refusal = (more: object): string => refusalIn(responses, { ...plain, ...more });

/** Knows one earlier answer. */
const recall: Recall = (id) => {
  if (id !== "a0") return null;
  return earlierAnswer({
    ...toolAnswer,
    text: "I look.",
    calls: [{ id: "c1", name: "weather", arguments: { city: "Paris" } }],
  });
};

describe("the Responses dialect", () => {
  it.each(Object.entries(responsesBodies))("reads the messages and the tool of %s", (_client, body) => {
    const { conversation } = callIn(responses, body, recall);
    expect(conversation.messages).toEqual(meaning);
    expect(conversation.tools).toEqual([
      { name: "weather", description: "Degrees.", parameters: body.tools[0]?.parameters },
    ]);
  });

  it("reads a text as the user's message, behind instructions of this call alone", () => {
    const { conversation, hasInstructions } = call({ instructions: "Be kind." });
    expect(conversation.messages).toEqual([
      { role: "system", text: "Be kind." },
      { role: "user", text: "Hi." },
    ]);
    expect(hasInstructions).toBe(true);
    expect(call({ instructions: "" }).hasInstructions).toBe(false);
  });

  it("reads the answer that a call goes on from, which may be all of it", () => {
    expect(call({ previous_response_id: "resp_a1" }).previous).toBe("a1");
    expect(callIn(responses, { previous_response_id: "resp_a1" }).conversation.messages).toEqual([]);
    expect(call({}).previous).toBeNull();
  });

  it("gives tool calls without a text a reply of their own", () => {
    const called = (id: string) => ({ type: "function_call", call_id: id, name: "f", arguments: "{}" });
    const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "" });
    const input = [called("1"), output("1"), called("2"), called("3"), output("2"), output("3")];
    const read = messagesIn(responses, { input });
    expect(read.map((message) => (message.role === "assistant" ? message.calls.length : message.role))).toEqual([
      1,
      "tool",
      2,
      "tool",
      "tool",
    ]);
  });

  it("looks up the items that a client only names", () => {
    const input = ["msg_a0", "fc_a0_0"].map((id) => ({ type: "item_reference", id }));
    expect(messagesIn(responses, { input }, recall)).toEqual([recall("a0")?.reply]);
  });

  it("refuses the name of an item that it cannot find", () => {
    const input = (id: string) => refusal({ input: [{ type: "item_reference", id }] });
    expect(input("msg_a0")).toBe(
      'input[0]: the item "msg_a0" is of no earlier answer; send the item itself (store: false)',
    );
    expect(input("other")).toContain('the item "other"');
    expect(refusalIn(responses, { input: [{ type: "item_reference", id: "fc_a0_1" }] })).toContain("fc_a0_1");
  });

  it("says what is wrong with a field, one sentence each", () => {
    expect(refusalIn(responses, {})).toBe("input: must have a message");
    expect(refusal({ input: 3 })).toBe("input: must be a list");
    expect(refusal({ input: [{ type: "web_search_call" }] })).toBe(
      'input[0]: an item of type "web_search_call" cannot be read',
    );
    expect(refusal({ input: [{ role: "user", content: [{ type: "input_image" }] }] })).toBe(
      "input[0].content[0]: an image cannot be read; send text",
    );
    expect(refusal({ input: [{ type: "function_call_output", output: "x" }] })).toBe(
      "input[0].call_id: must be a text that is not empty",
    );
    expect(refusal({ max_output_tokens: 0.5 })).toBe("max_output_tokens: must be a whole number of at least 1");
    expect(refusal({ instructions: [] })).toBe("instructions: must be a text");
  });

  it("refuses what is not served, and says what to do", () => {
    expect(refusal({ text: { format: { type: "json_schema" } } })).toBe(
      "text.format: is not served; ask for text and parse it",
    );
    expect(refusal({ background: true })).toBe("background: is not served; wait for the answer");
    expect(refusal({ conversation: "c" })).toContain("conversation: is not served");
    expect(refusal({ tools: [{ type: "web_search" }] })).toContain('tools[0]: a tool of type "web_search"');
    expect(refusal({ tool_choice: { type: "file_search" } })).toContain('tool_choice: a tool of type "file_search"');
  });

  it("reads that log-probabilities are wished for, which no run grants", () => {
    const { wishes } = call({ include: ["message.output_text.logprobs"] });
    expect(wishes.neverGranted).toEqual(["logprobs (answers have none)"]);
  });

  const options = {
    instructions: "Be kind.",
    temperature: 0.5,
    max_output_tokens: 99,
    previous_response_id: "resp_a0",
    tools: [{ type: "function", name: "weather", description: "Degrees.", parameters: {} }],
    tool_choice: { type: "function", name: "weather" },
  };
  const head = (id: string) => ({
    id,
    object: "response",
    created_at: 1_700_000_000,
    background: false,
    error: null,
    instructions: "Be kind.",
    max_output_tokens: 99,
    metadata: {},
    model: "policy",
    parallel_tool_calls: true,
    previous_response_id: "resp_a0",
    reasoning: { effort: null, summary: null },
    service_tier: "default",
    store: true,
    temperature: 0.5,
    text: { format: { type: "text" } },
    tool_choice: { type: "function", name: "weather" },
    tools: [{ type: "function", name: "weather", description: "Degrees.", parameters: {}, strict: false }],
    top_p: null,
    truncation: "disabled",
  });
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
  };
  const opening = (id: string) => ({
    ...head(id),
    status: "in_progress",
    incomplete_details: null,
    output: [],
    usage: null,
  });
  const textPart = { type: "output_text", text: "It is sunny.", annotations: [], logprobs: [] };
  const message = { id: "msg_a1", type: "message", role: "assistant" };
  const textResponse = {
    ...head("resp_a1"),
    status: "completed",
    incomplete_details: null,
    output: [{ ...message, status: "completed", content: [textPart] }],
    usage,
  };
  const summary = { type: "summary_text", text: "The forecast knows." };
  const reasoning = { id: "rs_a2", type: "reasoning" };
  const called = { id: "fc_a2_0", type: "function_call", call_id: "call_1", name: "weather" };
  const toolResponse = {
    ...head("resp_a2"),
    status: "completed",
    incomplete_details: null,
    output: [
      { ...reasoning, summary: [summary], status: "completed" },
      { ...called, arguments: '{"city":"Paris"}', status: "completed" },
    ],
    usage,
  };
  /** Events of a stream, numbered and named by their types. */
  const numbered = (events: readonly { readonly type: string; readonly [field: string]: unknown }[]) =>
    events.map((event, sequence_number) => ({ event: event.type, data: { ...event, sequence_number } }));

  it("answers with a text, and repeats what the call asked", () => {
    expect(responses.answer(textAnswer, call(options))).toEqual(textResponse);
  });

  it("answers with thoughts and a tool call, without a message", () => {
    expect(responses.answer(toolAnswer, call(options))).toEqual(toolResponse);
  });

  it("answers with an empty message where the reply is empty", () => {
    const answer = responses.answer({ ...textAnswer, text: "" }, call({}));
    expect(answer).toMatchObject({ output: [{ type: "message", content: [{ text: "" }] }] });
  });

  it("marks an answer that ended at its limit", () => {
    const long = { ...textAnswer, finish: "length" } as const;
    const ending = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
    expect(responses.answer(long, call({}))).toMatchObject({ ...ending, output: [{ status: "incomplete" }] });
    expect(eventsIn(responses.stream(long, call({}))).at(-1)).toMatchObject({ event: "response.incomplete" });
  });

  it("streams a text", () => {
    const at = { item_id: "msg_a1", content_index: 0, output_index: 0 };
    expect(eventsIn(responses.stream(textAnswer, call(options)))).toEqual(
      numbered([
        { type: "response.created", response: opening("resp_a1") },
        { type: "response.in_progress", response: opening("resp_a1") },
        {
          type: "response.output_item.added",
          output_index: 0,
          item: { ...message, status: "in_progress", content: [] },
        },
        { type: "response.content_part.added", ...at, part: { ...textPart, text: "" } },
        { type: "response.output_text.delta", ...at, delta: "It is sunny.", logprobs: [] },
        { type: "response.output_text.done", ...at, text: "It is sunny.", logprobs: [] },
        { type: "response.content_part.done", ...at, part: textPart },
        { type: "response.output_item.done", output_index: 0, item: textResponse.output[0] },
        { type: "response.completed", response: textResponse },
      ]),
    );
  });

  it("streams thoughts and a tool call", () => {
    const at = { item_id: "rs_a2", summary_index: 0, output_index: 0 };
    const inCall = { item_id: "fc_a2_0", output_index: 1 };
    const args = '{"city":"Paris"}';
    expect(eventsIn(responses.stream(toolAnswer, call(options)))).toEqual(
      numbered([
        { type: "response.created", response: opening("resp_a2") },
        { type: "response.in_progress", response: opening("resp_a2") },
        {
          type: "response.output_item.added",
          output_index: 0,
          item: { ...reasoning, summary: [], status: "in_progress" },
        },
        { type: "response.reasoning_summary_part.added", ...at, part: { ...summary, text: "" } },
        { type: "response.reasoning_summary_text.delta", ...at, delta: summary.text },
        { type: "response.reasoning_summary_text.done", ...at, text: summary.text },
        { type: "response.reasoning_summary_part.done", ...at, part: summary },
        { type: "response.output_item.done", output_index: 0, item: toolResponse.output[0] },
        {
          type: "response.output_item.added",
          output_index: 1,
          item: { ...called, arguments: "", status: "in_progress" },
        },
        { type: "response.function_call_arguments.delta", ...inCall, delta: args },
        { type: "response.function_call_arguments.done", ...inCall, name: "weather", arguments: args },
        { type: "response.output_item.done", output_index: 1, item: toolResponse.output[1] },
        { type: "response.completed", response: toolResponse },
      ]),
    );
  });

  it("finds each item that it answers with by its id", () => {
    const answered: Recall = (id) => (id === "a2" ? earlierAnswer({ ...toolAnswer, text: "Look." }) : null);
    const input = ["rs_a2", "msg_a2", "fc_a2_0"].map((id) => ({ type: "item_reference", id }));
    expect(messagesIn(responses, { input }, answered)).toEqual([replyOf({ ...toolAnswer, text: "Look." })]);
  });
});
