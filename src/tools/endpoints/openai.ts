/** OpenAI's chat completions, which vLLM, SGLang, Together, DeepSeek and many others speak too. */
import { Option, Schema } from "effect";
import type { ToolCall } from "../../domain/Conversation.ts";
import { argumentsIn, argumentsText } from "../../support/text/callArguments.ts";
import type { ReplyEnd } from "../evaluation/EvaluatedEpisode.ts";
import type { ChatMessage, ChatReply, ChatRequest, Protocol } from "./Chat.ts";

const Tokens = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0));

/** Some servers write the text in parts. */
const Parts = Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.String) }));

const Calls = Schema.Array(
  Schema.Struct({
    id: Schema.optionalKey(Schema.NullOr(Schema.String)),
    function: Schema.Struct({ name: Schema.String, arguments: Schema.optionalKey(Schema.Unknown) }),
  }),
);

const Completion = Schema.Struct({
  choices: Schema.NonEmptyArray(
    Schema.Struct({
      message: Schema.Struct({
        content: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Parts]))),
        tool_calls: Schema.optionalKey(Schema.NullOr(Calls)),
      }),
      finish_reason: Schema.optionalKey(Schema.NullOr(Schema.String)),
    }),
  ),
  usage: Schema.optionalKey(Schema.NullOr(Schema.Struct({ prompt_tokens: Tokens, completion_tokens: Tokens }))),
});
const decode = Schema.decodeUnknownOption(Completion);

const ends: Readonly<Record<string, ReplyEnd>> = { length: "length", content_filter: "filtered" };

const textOf = (content: string | typeof Parts.Type): string =>
  typeof content === "string" ? content : content.map(({ text = "" }) => text).join("");

const callsOf = (calls: typeof Calls.Type): readonly ToolCall[] =>
  calls.map(({ function: called, id }, at) => ({
    id: id ?? `call_${at}`,
    name: called.name,
    arguments: argumentsIn(called.arguments),
  }));

const read = (body: unknown): ChatReply | null => {
  const decoded = decode(body);
  if (Option.isNone(decoded)) return null;
  const { choices, usage } = decoded.value;
  const [{ finish_reason, message }] = choices;
  const calls = callsOf(message.tool_calls ?? []);
  return {
    text: textOf(message.content ?? ""),
    ...(calls.length === 0 ? {} : { calls }),
    finish: ends[finish_reason ?? ""] ?? "stop",
    usage:
      usage === undefined || usage === null ? null : { prompt: usage.prompt_tokens, reply: usage.completion_tokens },
  };
};

const messageOf = (message: ChatMessage): object => {
  const { content, role } = message;
  if (role === "tool") return { role, tool_call_id: message.call, content };
  if (!("calls" in message) || message.calls.length === 0) return { role, content };
  const tool_calls = message.calls.map((call) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: argumentsText(call.arguments) },
  }));
  return { role, content: content === "" ? null : content, tool_calls };
};

const toolFields = ({ tools }: ChatRequest): object => {
  if (tools === undefined) return {};
  const { choice, list } = tools;
  return {
    tools: list.map(({ description, name, parameters }) => ({
      type: "function",
      function: { name, ...(description === "" ? {} : { description }), parameters },
    })),
    ...(choice === "auto"
      ? {}
      : { tool_choice: typeof choice === "string" ? choice : { type: "function", function: choice } }),
  };
};

const samplingFields = ({ sampling: { seed, stop, topP } = {} }: ChatRequest): object => ({
  ...(topP === undefined ? {} : { top_p: topP }),
  ...(seed === undefined ? {} : { seed }),
  ...(stop === undefined ? {} : { stop }),
});

export const openai: Protocol = {
  path: "/chat/completions",
  headers: (key) => (key === null ? {} : { authorization: `Bearer ${key}` }),
  samplingFields: ["temperature", "topP", "seed", "stop"],
  body: (request) => {
    const { extra, maxTokens, messages, model, temperature } = request;
    return {
      model,
      messages: messages.map(messageOf),
      ...toolFields(request),
      ...(temperature === null ? {} : { temperature }),
      ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
      ...samplingFields(request),
      ...extra,
    };
  },
  read,
};
