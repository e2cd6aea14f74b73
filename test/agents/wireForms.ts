/** The three dialects as a small client has them: how a conversation is asked for, and what an answer says. */
import type { AssistantMessage, Message, Tool, ToolCall } from "../../src/domain/Conversation.ts";

type Json = Readonly<Record<string, unknown>>;

/** One call of a client. */
export interface WireCall {
  readonly messages: readonly Message[];
  readonly tools?: readonly Tool[];
  readonly maxTokens?: number;
  readonly isStreamed?: boolean;
  /** Id of the answer that a Responses client names in place of the messages before. */
  readonly previous?: string;
}

/** An answer as its client reads it. */
export interface WireAnswer {
  readonly id: string;
  readonly reply: AssistantMessage;
  readonly isCut: boolean;
}

export interface WireForm {
  readonly path: `/v1/${string}`;
  readonly body: (call: WireCall) => Json;
  readonly read: (body: Json) => WireAnswer;
  /** The whole body that a stream of events amounts to. */
  readonly join: (events: readonly Json[]) => Json;
}

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const object = (value: unknown): Json => (typeof value === "object" && value !== null ? { ...value } : {});

const replyOf = (text: string, calls: readonly ToolCall[]): AssistantMessage => ({ role: "assistant", text, calls });

const chatMessage = (message: Message): Json => {
  if (message.role === "tool") return { role: "tool", tool_call_id: message.call, content: message.text };
  if (message.role !== "assistant") return { role: message.role, content: message.text };
  const calls = message.calls.map(({ arguments: values, id, name }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(values) },
  }));
  return { role: "assistant", content: message.text, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
};

const chat: WireForm = {
  path: "/v1/chat/completions",
  body: ({ isStreamed = false, maxTokens, messages, tools = [] }) => ({
    model: "policy",
    messages: messages.map(chatMessage),
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => ({ type: "function", function: tool })) }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    stream: isStreamed,
  }),
  read: ({ choices, id }) => {
    const [choice = {}] = list(choices);
    const message = object(choice.message);
    const calls = list(message.tool_calls).map((call): ToolCall => {
      const called = object(call.function);
      return { id: text(call.id), name: text(called.name), arguments: JSON.parse(text(called.arguments)) };
    });
    return { id: text(id), reply: replyOf(text(message.content), calls), isCut: choice.finish_reason === "length" };
  },
  join: (events) => {
    const choices = events.flatMap(({ choices }) => list(choices));
    const deltas = choices.map(({ delta }) => object(delta));
    const parts = deltas.flatMap(({ tool_calls }) => list(tool_calls));
    const heads = parts.filter(({ id }) => id !== undefined);
    const calls = heads.map((head) => ({
      ...head,
      function: {
        name: object(head.function).name,
        arguments: parts
          .filter(({ index }) => index === head.index)
          .map(({ function: called }) => text(object(called).arguments))
          .join(""),
      },
    }));
    const content = deltas.map((delta) => text(delta.content)).join("");
    const reason = choices.map(({ finish_reason }) => finish_reason).findLast((each) => each !== null);
    const message = { content, tool_calls: calls };
    return { id: events[0]?.id, choices: [{ message, finish_reason: reason }] };
  },
};

const responsesItems = (message: Message): readonly Json[] => {
  if (message.role === "tool") return [{ type: "function_call_output", call_id: message.call, output: message.text }];
  if (message.role !== "assistant") return [{ role: message.role, content: message.text }];
  const calls = message.calls.map(({ arguments: values, id, name }) => ({
    type: "function_call",
    call_id: id,
    name,
    arguments: JSON.stringify(values),
  }));
  const isBare = message.text === "" && calls.length > 0;
  return [...(isBare ? [] : [{ type: "message", role: "assistant", content: message.text }]), ...calls];
};

const responses: WireForm = {
  path: "/v1/responses",
  body: ({ isStreamed = false, maxTokens, messages, previous, tools = [] }) => ({
    model: "policy",
    input: messages.flatMap(responsesItems),
    ...(previous === undefined ? {} : { previous_response_id: previous }),
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => ({ type: "function", ...tool })) }),
    ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
    stream: isStreamed,
  }),
  read: ({ id, output, status }) => {
    const items = list(output);
    const texts = items.flatMap(({ content }) => list(content).map((part) => text(part.text)));
    const calls = items
      .filter(({ type }) => type === "function_call")
      .map((item): ToolCall => {
        return { id: text(item.call_id), name: text(item.name), arguments: JSON.parse(text(item.arguments)) };
      });
    return { id: text(id), reply: replyOf(texts.join(""), calls), isCut: status === "incomplete" };
  },
  join: (events) => object(events.at(-1)?.response),
};

const messagesContent = (message: Message): Json => {
  if (message.role === "tool") {
    return { role: "user", content: [{ type: "tool_result", tool_use_id: message.call, content: message.text }] };
  }
  if (message.role !== "assistant") return { role: message.role, content: message.text };
  const calls = message.calls.map(({ arguments: input, id, name }) => ({ type: "tool_use", id, name, input }));
  const texts = message.text === "" && calls.length > 0 ? [] : [{ type: "text", text: message.text }];
  return { role: "assistant", content: [...texts, ...calls] };
};

const messages: WireForm = {
  path: "/v1/messages",
  body: ({ isStreamed = false, maxTokens = 4_096, messages, tools = [] }) => {
    const [first] = messages;
    const system = first?.role === "system" ? { system: first.text } : {};
    const rest = first?.role === "system" ? messages.slice(1) : messages;
    const offered = tools.map(({ description, name, parameters }) => ({ name, description, input_schema: parameters }));
    return {
      model: "policy",
      ...system,
      messages: rest.map(messagesContent),
      ...(offered.length === 0 ? {} : { tools: offered }),
      max_tokens: maxTokens,
      stream: isStreamed,
    };
  },
  read: ({ content, id, stop_reason }) => {
    const blocks = list(content);
    const calls = blocks
      .filter(({ type }) => type === "tool_use")
      .map((block): ToolCall => ({ id: text(block.id), name: text(block.name), arguments: block.input }));
    const reply = replyOf(blocks.map((block) => text(block.text)).join(""), calls);
    return { id: text(id), reply, isCut: stop_reason === "max_tokens" };
  },
  join: (events) => {
    const start = object(events.find(({ type }) => type === "message_start")?.message);
    const ending = object(events.find(({ type }) => type === "message_delta")?.delta);
    const content = events
      .filter(({ type }) => type === "content_block_start")
      .map(({ content_block, index }) => {
        const deltas = events.filter((event) => event.type === "content_block_delta" && event.index === index);
        const joined = (field: string) => deltas.map(({ delta }) => text(object(delta)[field])).join("");
        const block = object(content_block);
        return block.type === "tool_use"
          ? { ...block, input: JSON.parse(joined("partial_json")) }
          : { ...block, text: joined("text") };
      });
    return { ...start, ...ending, content };
  },
};

export const wireForms = { chat, responses, messages } as const satisfies Readonly<Record<string, WireForm>>;
export type WireName = keyof typeof wireForms;
export const wireNames: readonly WireName[] = ["chat", "responses", "messages"];

/** The events of a stream, but for its last word. */
export const eventsIn = (stream: string): readonly Json[] =>
  stream
    .split("\n")
    .filter((line) => line.startsWith("data: ") && line !== "data: [DONE]")
    .map((line): Json => JSON.parse(line.slice("data: ".length)));

/** A client of one episode that calls by fetch. A refusal throws its status and body. */
export const wireClient =
  (url: string, key: string) =>
  async (name: WireName, call: WireCall, signal?: AbortSignal): Promise<WireAnswer> => {
    const form = wireForms[name];
    const response = await fetch(url + form.path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify(form.body(call)),
      ...(signal === undefined ? {} : { signal }),
    });
    const body = await response.text();
    if (!response.ok) throw new Error(`${response.status}: ${body}`);
    return form.read(call.isStreamed === true ? form.join(eventsIn(body)) : JSON.parse(body));
  };
