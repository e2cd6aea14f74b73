/**
 * Checks that a template writes all messages of a chat, by rendering the same roles with words for texts. The answer is kept by the shape of
 * the chat, so that a conversation costs a second rendering only where its shape is new.
 */
import { Effect } from "effect";
import type { Message, Tool } from "../../../../domain/Conversation.ts";
import type { JinjaTemplate } from "../../JinjaTemplate.ts";
import { thoughtTag } from "../../TextVariants.ts";
import { asItIs, messageRequest, type TextMap, toolRequests } from "./chatRequest.ts";
import { firstMissing, inWords, type WordMessage, wordTool } from "./Words.ts";

export interface Chat {
  /** Messages that nobody sent, before the others. */
  readonly before: readonly Message[];
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly replyPrefix: string;
}

/** The text of a chat, the texts that clients sent changed by `map`. */
export const renderChat = (
  template: JinjaTemplate,
  { before, messages, replyPrefix, tools }: Chat,
  map: TextMap,
): Effect.Effect<string, string> =>
  Effect.try({
    try: () => ({
      all: [
        ...before.map((message) => messageRequest(message, asItIs)),
        ...messages.map((message) => messageRequest(message, map)),
      ],
      offered: toolRequests(tools, map),
    }),
    // Values nested too deep for the stack end here.
    catch: String,
  }).pipe(Effect.flatMap(({ all, offered }) => template.render(all, replyPrefix.startsWith(thoughtTag), offered)));

/** Clients send few shapes; a limit keeps those that do not from filling the memory. */
const mostShapes = 1_000;

/** Everything in a chat that a template may tell apart, but for its texts. */
const shapeOf = ({ before, messages, replyPrefix, tools }: Chat): string =>
  JSON.stringify([
    before.length,
    tools.length > 0,
    replyPrefix.startsWith(thoughtTag),
    ...messages.map((message) => [
      message.role,
      message.text.trim() !== "",
      message.role === "assistant" ? message.calls.length : 0,
    ]),
  ]);

const missingText = (messages: readonly WordMessage[], index: number): string => {
  const message = messages[index]?.message;
  const beside = message?.role === "assistant" && message.calls.length > 0 ? " with tool calls" : "";
  return `it leaves out texts of message ${index + 1} (${message?.role ?? ""}${beside}), or writes them elsewhere`;
};

/** Fails where the template does not write the messages of a chat in the part of its rendering that `cut` gives. */
export type ShapeCheck = (chat: Chat, cut: (rendering: string) => string) => Effect.Effect<void, string>;

export const makeShapeCheck = (template: JinjaTemplate): ShapeCheck => {
  const problems = new Map<string, string | undefined>();
  return Effect.fnUntraced(function* (chat, cut) {
    const key = shapeOf(chat);
    if (!problems.has(key)) {
      const words = chat.messages.map(inWords);
      const tools = chat.tools.length === 0 ? [] : [wordTool];
      const messages = words.map(({ message }) => message);
      const text = yield* renderChat(template, { ...chat, tools, messages }, asItIs);
      const index = firstMissing(cut(text), words);
      if (problems.size >= mostShapes) problems.clear();
      problems.set(key, index === undefined ? undefined : missingText(words, index));
    }
    const problem = problems.get(key);
    if (problem !== undefined) return yield* Effect.fail(problem);
  });
};
