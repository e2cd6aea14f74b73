/**
 * Renders conversations by a folder's chat template: whole ones, and the text behind a reply from a chat of a few messages, so that a bridge
 * costs the same however long the conversation is.
 * Invariant: every message's texts stand in the rendering, in order; a template that leaves one out fails with a sentence.
 */
import { Effect } from "effect";
import type { AssistantMessage, Conversation, Message, Tool } from "../../../../domain/Conversation.ts";
import { type TextPart, trustedText, withoutThought } from "../../ChatTexts.ts";
import type { JinjaTemplate } from "../../JinjaTemplate.ts";
import { promptOf, type TextVariants, textsFor } from "../../TextVariants.ts";
import { behindPrefix } from "../behindPrefix.ts";
import { type Chat, makeShapeCheck, renderChat } from "./ShapeCheck.ts";
import { makeMarks } from "./UntrustedMarks.ts";

type Rendering = Effect.Effect<readonly TextPart[], string>;

export interface ChatRenderer {
  readonly opening: (conversation: Conversation, replyPrefix: string) => Rendering;
  /** A reply that nobody sampled, from behind its prefix to the token that ends it. */
  readonly reply: (message: AssistantMessage, tools: readonly Tool[], replyPrefix: string) => Rendering;
  /** From the token that ends a reply, which it begins with, up to the next reply. */
  readonly bridge: (added: readonly Message[], tools: readonly Tool[], replyPrefix: string) => Rendering;
}

export const joinParts = (parts: readonly TextPart[]): string => parts.map(({ text }) => text).join("");

/** Puts the system's text before the first user's where the template takes no message of the system, as `ChatTemplate` does. */
const foldSystem = (messages: readonly Message[]): readonly Message[] => {
  const [first, next, ...rest] = messages;
  if (first?.role !== "system" || next?.role !== "user") return messages;
  return [{ role: "user", text: `${first.text}\n\n${next.text}` }, ...rest];
};

/** Puts the beginning of the reply behind the template's prompt. */
const withPrefix = (parts: readonly TextPart[], replyPrefix: string): readonly TextPart[] => [
  ...parts.slice(0, -1),
  trustedText(promptOf(parts.at(-1)?.text ?? "", replyPrefix)),
];

const cannotWrite = (reason: string): string => `the chat template cannot write these messages: ${reason}`;

interface Beginning {
  readonly messages: readonly Message[];
  /** The last word of the reply, which stands nowhere else. */
  readonly word: string;
}

/** A word that `texts` lacks. */
const wordOutside = (texts: string): string => {
  let word = "qzreplyqz";
  while (texts.includes(word)) word += "qz";
  return word;
};

/** The messages before a bridge: a user's, and a reply that has a call for each result behind it. */
const beforeBridge = (added: readonly Message[], texts: string): Beginning => {
  const word = wordOutside(texts);
  const firstOther = added.findIndex(({ role }) => role !== "tool");
  const results = added.slice(0, firstOther < 0 ? added.length : firstOther);
  const calls = results.flatMap((message) =>
    message.role === "tool" ? [{ id: message.call, name: "qzcallqz", arguments: { qzargumentqz: word } }] : [],
  );
  const reply: AssistantMessage = { role: "assistant", text: calls.length === 0 ? word : "", calls };
  return { messages: [{ role: "user", text: "qzquestionqz" }, reply], word };
};

/** All texts of messages and tools, to search in. Fails where arguments are nested too deep. */
const textsIn = (messages: readonly Message[], tools: readonly Tool[]): Effect.Effect<string, string> =>
  Effect.try({ try: () => JSON.stringify([messages, tools]), catch: String });

/** A renderer by `template`. `tokens` are those that no untrusted text may spell. */
export const makeRenderer = (
  template: JinjaTemplate,
  variants: TextVariants,
  tokens: readonly string[],
): ChatRenderer => {
  const { end, system } = variants.plain;
  const checkShape = makeShapeCheck(template);

  /** The parts of the rendering that `cut` gives. */
  const render = Effect.fnUntraced(function* (
    chat: Chat,
    cut: (rendering: string) => string,
  ): Effect.fn.Return<readonly TextPart[], string> {
    yield* checkShape(chat, cut);
    const marks = makeMarks(tokens, yield* textsIn(chat.messages, chat.tools));
    if (marks === undefined) return yield* Effect.fail("they have too many characters for private use");
    return marks.parts(cut(yield* renderChat(template, chat, marks.mark)));
  }, Effect.mapError(cannotWrite));
  const renderPrompt = (chat: Chat, cut: (rendering: string) => string) =>
    Effect.map(render(chat, cut), (parts) => withPrefix(parts, chat.replyPrefix));

  return {
    opening: ({ messages, tools }, replyPrefix) => {
      const written = messages.filter(({ role, text }) => role !== "system" || text !== "");
      const folded = system === null ? foldSystem(written) : written;
      return renderPrompt({ before: [], messages: folded, tools, replyPrefix }, (rendering) => rendering);
    },
    reply: Effect.fnUntraced(function* (message, tools, replyPrefix) {
      const word = wordOutside(yield* Effect.mapError(textsIn([message], tools), cannotWrite));
      const { earlierPrompt, prompt } = textsFor(variants, replyPrefix);
      const headers = [prompt, earlierPrompt].map(withoutThought);
      const betweenWordAndEnd = (rendering: string): string => {
        const behind = rendering.slice(rendering.lastIndexOf(word) + word.length);
        const header = headers.find((text) => behind.startsWith(text));
        return header === undefined ? "" : behind.slice(header.length, behind.lastIndexOf(end));
      };
      const before: readonly Message[] = [{ role: "user", text: word }];
      const parts = yield* render({ before, messages: [message], tools, replyPrefix }, betweenWordAndEnd);
      const opened = promptOf(prompt, replyPrefix).slice(withoutThought(prompt).length);
      const rest = yield* Effect.fromResult(behindPrefix(parts, opened, replyPrefix));
      return [...rest, trustedText(end)];
    }),
    bridge: Effect.fnUntraced(function* (added, tools, replyPrefix) {
      const { messages: before, word } = beforeBridge(
        added,
        yield* Effect.mapError(textsIn(added, tools), cannotWrite),
      );
      const fromEnd = (rendering: string): string => {
        const at = rendering.indexOf(end, Math.max(0, rendering.lastIndexOf(word)));
        return at < 0 ? "" : rendering.slice(at);
      };
      return yield* renderPrompt({ before, messages: added, tools, replyPrefix }, fromEnd);
    }),
  };
};
