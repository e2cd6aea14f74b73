/** Anthropic's messages: the system text stands outside of them, and none of them may be empty. */
import { Option, Schema } from "effect";
import type { ToolCall } from "../../domain/Conversation.ts";
import type { ReplyEnd } from "../evaluation/EvaluatedEpisode.ts";
import type { ChatMessage, ChatReply, ChatRequest, Protocol } from "./Chat.ts";

const Tokens = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0));
const TokensOrNone = Schema.optionalKey(Schema.NullOr(Tokens));

const Answer = Schema.Struct({
  content: Schema.Array(
    Schema.Struct({
      type: Schema.String,
      text: Schema.optionalKey(Schema.String),
      id: Schema.optionalKey(Schema.String),
      name: Schema.optionalKey(Schema.String),
      input: Schema.optionalKey(Schema.Unknown),
    }),
  ),
  stop_reason: Schema.optionalKey(Schema.NullOr(Schema.String)),
  usage: Schema.optionalKey(
    Schema.Struct({
      input_tokens: Tokens,
      output_tokens: Tokens,
      // The endpoint counts these apart from the others, and charges for them too.
      cache_creation_input_tokens: TokensOrNone,
      cache_read_input_tokens: TokensOrNone,
    }),
  ),
});
const decode = Schema.decodeUnknownOption(Answer);

const ends: Readonly<Record<string, ReplyEnd>> = {
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "filtered",
};

const read = (body: unknown): ChatReply | null => {
  const decoded = decode(body);
  if (Option.isNone(decoded)) return null;
  const { content, stop_reason, usage } = decoded.value;
  const texts = content.flatMap(({ text, type }) => (type === "text" && text !== undefined ? [text] : []));
  const calls = content.flatMap(({ id, input = {}, name, type }, at): readonly ToolCall[] =>
    type === "tool_use" && name !== undefined ? [{ id: id ?? `call_${at}`, name, arguments: input }] : [],
  );
  return {
    text: texts.join(""),
    ...(calls.length === 0 ? {} : { calls }),
    finish: ends[stop_reason ?? ""] ?? "stop",
    usage:
      usage === undefined
        ? null
        : {
            prompt:
              usage.input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0),
            reply: usage.output_tokens,
          },
  };
};

/** Stands in for a message without text, which the endpoint refuses. */
const nothing = "(empty)";

const filled = (text: string): string => (text.trim() === "" ? nothing : text);

/** Ids as the endpoint takes them; clients may have made some of their own. */
const idOf = (id: string): string => id.replace(/[^\w-]/g, "_");

/** Arguments are objects here. A text that is no JSON becomes one. */
const inputOf = (values: unknown): unknown =>
  typeof values === "object" && values !== null && !Array.isArray(values) ? values : { arguments: values };

/** The blocks of a reply with tool calls, or of a tool's result; null for a message that is a text. */
const blocksOf = (message: ChatMessage): readonly object[] | null => {
  const { content, role } = message;
  if (role === "tool") return [{ type: "tool_result", tool_use_id: idOf(message.call), content: filled(content) }];
  if (!("calls" in message) || message.calls.length === 0) return null;
  const text = content.trim() === "" ? [] : [{ type: "text", text: content }];
  const calls = message.calls.map(({ arguments: values, id, name }) => ({
    type: "tool_use",
    id: idOf(id),
    name,
    input: inputOf(values),
  }));
  return [...text, ...calls];
};

interface SentMessage {
  readonly role: string;
  readonly content: string | readonly object[];
}

const asBlocks = (content: SentMessage["content"]): readonly object[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

/** Results of tools stand in a message of the user, with what the user says behind them: the endpoint asks for all results in one. */
const messagesOf = (chat: readonly ChatMessage[]): readonly SentMessage[] => {
  const messages: SentMessage[] = [];
  for (const message of chat) {
    const role = message.role === "tool" ? "user" : message.role;
    const content = blocksOf(message) ?? filled(message.content);
    const last = messages.at(-1);
    const isJoined = last?.role === "user" && role === "user" && typeof last.content !== "string";
    if (isJoined) messages[messages.length - 1] = { role, content: [...last.content, ...asBlocks(content)] };
    else messages.push({ role, content });
  }
  return messages;
};

const choices = { auto: { type: "auto" }, none: { type: "none" }, required: { type: "any" } } as const;

const toolFields = ({ tools }: ChatRequest): object => {
  if (tools === undefined) return {};
  const { choice, list } = tools;
  return {
    tools: list.map(({ description, name, parameters }) => ({
      name,
      ...(description === "" ? {} : { description }),
      input_schema: parameters,
    })),
    ...(choice === "auto"
      ? {}
      : { tool_choice: typeof choice === "string" ? choices[choice] : { type: "tool", name: choice.name } }),
  };
};

const samplingFields = ({ sampling: { stop, topK, topP } = {} }: ChatRequest): object => ({
  ...(topP === undefined ? {} : { top_p: topP }),
  ...(topK === undefined ? {} : { top_k: topK }),
  ...(stop === undefined ? {} : { stop_sequences: stop }),
});

export const anthropic: Protocol = {
  path: "/v1/messages",
  headers: (key) => ({ "anthropic-version": "2023-06-01", ...(key === null ? {} : { "x-api-key": key }) }),
  samplingFields: ["temperature", "topP", "topK", "stop"],
  body: (request) => {
    const { extra, maxTokens, messages, model, temperature } = request;
    const system = messages.flatMap(({ content, role }) => (role === "system" ? [content] : [])).join("\n");
    return {
      model,
      ...(system === "" ? {} : { system }),
      messages: messagesOf(messages.filter(({ role }) => role !== "system")),
      ...toolFields(request),
      ...(temperature === null ? {} : { temperature }),
      ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
      ...samplingFields(request),
      ...extra,
    };
  },
  read,
};
