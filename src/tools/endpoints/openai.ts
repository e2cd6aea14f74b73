/** OpenAI's chat completions, which vLLM, SGLang, Together, DeepSeek and many others speak too. */
import { Option, Schema } from "effect";
import type { ReplyEnd } from "../evaluation/EvaluatedEpisode.ts";
import type { ChatReply, Protocol } from "./Chat.ts";

const Tokens = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0));

/** Some servers write the text in parts. */
const Parts = Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.String) }));

const Completion = Schema.Struct({
  choices: Schema.NonEmptyArray(
    Schema.Struct({
      message: Schema.Struct({ content: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Parts]))) }),
      finish_reason: Schema.optionalKey(Schema.NullOr(Schema.String)),
    }),
  ),
  usage: Schema.optionalKey(Schema.NullOr(Schema.Struct({ prompt_tokens: Tokens, completion_tokens: Tokens }))),
});
const decode = Schema.decodeUnknownOption(Completion);

const ends: Readonly<Record<string, ReplyEnd>> = { length: "length", content_filter: "filtered" };

const textOf = (content: string | typeof Parts.Type): string =>
  typeof content === "string" ? content : content.map(({ text = "" }) => text).join("");

const read = (body: unknown): ChatReply | null => {
  const decoded = decode(body);
  if (Option.isNone(decoded)) return null;
  const { choices, usage } = decoded.value;
  const [{ finish_reason, message }] = choices;
  return {
    text: textOf(message.content ?? ""),
    finish: ends[finish_reason ?? ""] ?? "stop",
    usage:
      usage === undefined || usage === null ? null : { prompt: usage.prompt_tokens, reply: usage.completion_tokens },
  };
};

export const openai: Protocol = {
  path: "/chat/completions",
  headers: (key) => (key === null ? {} : { authorization: `Bearer ${key}` }),
  body: ({ extra, maxTokens, messages, model, temperature }) => ({
    model,
    messages,
    ...(temperature === null ? {} : { temperature }),
    ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
    ...extra,
  }),
  read,
};
