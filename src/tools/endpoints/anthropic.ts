/** Anthropic's messages: the system text stands outside of them, and none of them may be empty. */
import { Option, Schema } from "effect";
import type { ReplyEnd } from "../evaluation/EvaluatedEpisode.ts";
import type { ChatReply, Protocol } from "./Chat.ts";

const Tokens = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0));
const TokensOrNone = Schema.optionalKey(Schema.NullOr(Tokens));

const Answer = Schema.Struct({
  content: Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.String) })),
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
  return {
    text: texts.join(""),
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

export const anthropic: Protocol = {
  path: "/v1/messages",
  headers: (key) => ({ "anthropic-version": "2023-06-01", ...(key === null ? {} : { "x-api-key": key }) }),
  body: ({ extra, maxTokens, messages, model, temperature }) => {
    const system = messages.flatMap(({ content, role }) => (role === "system" ? [content] : [])).join("\n");
    const chat = messages.filter(({ role }) => role !== "system");
    return {
      model,
      ...(system === "" ? {} : { system }),
      messages: chat.map(({ content, role }) => ({ role, content: content.trim() === "" ? nothing : content })),
      ...(temperature === null ? {} : { temperature }),
      ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
      ...extra,
    };
  },
  read,
};
