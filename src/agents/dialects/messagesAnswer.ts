/** Answers, streams and errors in the form of Anthropic's messages. */
import type { ToolCall } from "../../domain/Conversation.ts";
import type { Problem } from "../../support/http/Problem.ts";
import type { ModelAnswer, ModelCall } from "./Dialect.ts";
import { serverSentEvent } from "./wire.ts";

const stopReasons = { stop: "end_turn", tool_calls: "tool_use", length: "max_tokens" } as const;

/** Why an answer ended. Tool calls come first, since clients run them by this reason. */
const endingOf = ({ finish, stop }: ModelAnswer) => ({
  stop_reason: stop !== null && finish === "stop" ? "stop_sequence" : stopReasons[finish],
  stop_sequence: finish === "stop" ? stop : null,
});

/** A block as the stream opens it, the deltas that fill it, and the whole block. */
interface Block {
  readonly opening: object;
  readonly deltas: readonly object[];
  readonly whole: object;
}

const textBlock = (text: string): Block => ({
  opening: { type: "text", text: "", citations: null },
  deltas: [{ type: "text_delta", text }],
  whole: { type: "text", text, citations: null },
});

/** Clients send thoughts back with their signature, and some drop thoughts without one. */
const thinkingBlock = (thinking: string, signature: string): Block => ({
  opening: { type: "thinking", thinking: "", signature: "" },
  deltas: [
    { type: "thinking_delta", thinking },
    { type: "signature_delta", signature },
  ],
  whole: { type: "thinking", thinking, signature },
});

const toolBlock = ({ arguments: input, id, name }: ToolCall): Block => {
  const head = { type: "tool_use", id, name, caller: { type: "direct" } };
  return {
    opening: { ...head, input: {} },
    deltas: [{ type: "input_json_delta", partial_json: JSON.stringify(input) }],
    whole: { ...head, input },
  };
};

/** The blocks of an answer: a text, empty if need be, unless tool calls stand for it. Clients read the first block without a look. */
const blocksOf = ({ calls, id, reasoning, text }: ModelAnswer): readonly Block[] => [
  ...(reasoning === null ? [] : [thinkingBlock(reasoning, id)]),
  ...(text === "" && calls.length > 0 ? [] : [textBlock(text)]),
  ...calls.map(toolBlock),
];

const usageOf = (prompt: number, reply: number) => ({
  input_tokens: prompt,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: reply,
});

export const messagePrefix = "msg_";

const head = ({ id }: ModelAnswer, { model }: ModelCall) => ({
  id: `${messagePrefix}${id}`,
  type: "message",
  role: "assistant",
  model,
});

export const messageAnswer = (answer: ModelAnswer, call: ModelCall): unknown => ({
  ...head(answer, call),
  content: blocksOf(answer).map(({ whole }) => whole),
  ...endingOf(answer),
  usage: usageOf(answer.usage.prompt, answer.usage.reply),
});

export const messageStream = (answer: ModelAnswer, call: ModelCall): string => {
  const { prompt, reply } = answer.usage;
  const ending = endingOf(answer);
  const opening = { ...head(answer, call), content: [], stop_reason: null, stop_sequence: null };
  const events = [
    { type: "message_start", message: { ...opening, usage: usageOf(prompt, 0) } },
    ...blocksOf(answer).flatMap(({ deltas, opening: content_block }, index) => [
      { type: "content_block_start", index, content_block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: ending, usage: usageOf(prompt, reply) },
    { type: "message_stop" },
  ];
  return events.map((event) => serverSentEvent(event, event.type)).join("");
};

const errorTypes: ReadonlyMap<number, string> = new Map([
  [401, "authentication_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [409, "conflict_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [503, "overloaded_error"],
  [529, "overloaded_error"],
]);

export const messageError = ({ message, status }: Problem): unknown => {
  const type = errorTypes.get(status) ?? (status >= 500 ? "api_error" : "invalid_request_error");
  return { type: "error", error: { type, message } };
};
