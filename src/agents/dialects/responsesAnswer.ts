/** Answers and streams in the form of OpenAI's Responses: a list of items, each of which a stream opens, fills and closes. */
import type { ToolCall } from "../../domain/Conversation.ts";
import type { Problem } from "../../support/http/Problem.ts";
import { argumentsText } from "../../support/text/callArguments.ts";
import type { ModelAnswer, ModelCall } from "./Dialect.ts";
import { itemIdText, responsePrefix } from "./responsesIds.ts";
import { openAiErrorFields, serverSentEvent } from "./wire.ts";

interface ItemEvent {
  readonly type: string;
  readonly item_id: string;
  readonly [field: string]: unknown;
}

/** An item as the stream opens it, the events that fill it, and the whole item. Events lack their number and the item's index. */
interface OutputItem {
  readonly opening: object;
  readonly events: readonly ItemEvent[];
  readonly whole: object;
}

const reasoningItem = (answer: string, text: string): OutputItem => {
  const id = itemIdText({ answer, part: "reasoning" });
  const at = { item_id: id, summary_index: 0 };
  const part = { type: "summary_text", text };
  return {
    opening: { id, type: "reasoning", summary: [], status: "in_progress" },
    events: [
      { type: "response.reasoning_summary_part.added", ...at, part: { ...part, text: "" } },
      { type: "response.reasoning_summary_text.delta", ...at, delta: text },
      { type: "response.reasoning_summary_text.done", ...at, text },
      { type: "response.reasoning_summary_part.done", ...at, part },
    ],
    whole: { id, type: "reasoning", summary: [part], status: "completed" },
  };
};

const messageItem = (answer: string, text: string, status: string): OutputItem => {
  const id = itemIdText({ answer, part: "message" });
  const item = { id, type: "message", role: "assistant" };
  const at = { item_id: id, content_index: 0 };
  const part = { type: "output_text", text, annotations: [], logprobs: [] };
  return {
    opening: { ...item, status: "in_progress", content: [] },
    events: [
      { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
      { type: "response.output_text.delta", ...at, delta: text, logprobs: [] },
      { type: "response.output_text.done", ...at, text, logprobs: [] },
      { type: "response.content_part.done", ...at, part },
    ],
    whole: { ...item, status, content: [part] },
  };
};

const callItem = (answer: string, call: ToolCall, index: number): OutputItem => {
  const id = itemIdText({ answer, part: index });
  const text = argumentsText(call.arguments);
  const item = { id, type: "function_call", call_id: call.id, name: call.name };
  return {
    opening: { ...item, arguments: "", status: "in_progress" },
    events: [
      { type: "response.function_call_arguments.delta", item_id: id, delta: text },
      { type: "response.function_call_arguments.done", item_id: id, name: call.name, arguments: text },
    ],
    whole: { ...item, arguments: text, status: "completed" },
  };
};

/** The items of an answer: a message, empty if need be, unless tool calls stand for it. */
const itemsOf = ({ calls, finish, id, reasoning, text }: ModelAnswer): readonly OutputItem[] => [
  ...(reasoning === null ? [] : [reasoningItem(id, reasoning)]),
  ...(text === "" && calls.length > 0
    ? []
    : [messageItem(id, text, finish === "length" && calls.length === 0 ? "incomplete" : "completed")]),
  ...calls.map((call, index) => callItem(id, call, index)),
];

const usageOf = ({ usage: { prompt, reply } }: ModelAnswer) => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: reply,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: prompt + reply,
});

/** A response's fields that do not depend on how far it is. They repeat what the client asked. */
const responseHead = ({ created, id }: ModelAnswer, call: ModelCall) => {
  const { conversation, hasInstructions, model, previous, toolChoice, wishes } = call;
  return {
    id: `${responsePrefix}${id}`,
    object: "response",
    created_at: created,
    background: false,
    error: null,
    instructions: hasInstructions ? (conversation.messages[0]?.text ?? null) : null,
    max_output_tokens: wishes.maxTokens ?? null,
    metadata: {},
    model,
    parallel_tool_calls: true,
    previous_response_id: previous === null ? null : `${responsePrefix}${previous}`,
    reasoning: { effort: null, summary: null },
    service_tier: "default",
    store: true,
    temperature: wishes.temperature ?? null,
    text: { format: { type: "text" } },
    tool_choice: typeof toolChoice === "string" ? toolChoice : { type: "function", ...toolChoice },
    tools: conversation.tools.map((tool) => ({ type: "function", ...tool, strict: false })),
    top_p: wishes.topP ?? null,
    truncation: "disabled",
  };
};

/** The status and the reason of an answer that ended at its limit of tokens. */
const endingOf = ({ finish }: ModelAnswer) =>
  finish === "length"
    ? { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
    : { status: "completed", incomplete_details: null };

export const responseAnswer = (answer: ModelAnswer, call: ModelCall) => ({
  ...responseHead(answer, call),
  ...endingOf(answer),
  output: itemsOf(answer).map(({ whole }) => whole),
  usage: usageOf(answer),
});

export const responseStream = (answer: ModelAnswer, call: ModelCall): string => {
  const whole = responseAnswer(answer, call);
  const opening = { ...whole, status: "in_progress", incomplete_details: null, output: [], usage: null };
  const events = [
    { type: "response.created", response: opening },
    { type: "response.in_progress", response: opening },
    ...itemsOf(answer).flatMap((item, output_index) => [
      { type: "response.output_item.added", output_index, item: item.opening },
      ...item.events.map((event) => ({ ...event, output_index })),
      { type: "response.output_item.done", output_index, item: item.whole },
    ]),
    { type: `response.${whole.status}`, response: whole },
  ];
  return events.map((event, sequence_number) => serverSentEvent({ ...event, sequence_number }, event.type)).join("");
};

/** An error's event, where a stream ends with one. Its fields stand beside its type. */
export const responseStreamError = (problem: Problem): string => {
  const { code, message, param } = openAiErrorFields(problem);
  return serverSentEvent({ type: "error", code, message, param, sequence_number: 0 }, "error");
};
