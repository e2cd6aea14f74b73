/** A conversation as text: trusted parts that a template writes, and untrusted ones from messages and tools. */
import type { Effect } from "effect";
import type { AssistantMessage, Conversation, Message, Tool } from "../../../domain/Conversation.ts";
import type { TextPart } from "../ChatTexts.ts";
import type { ReadReply } from "./readReply.ts";

export interface ConversationTexts {
  /** A conversation up to the next reply, whose prefix is part of it. */
  readonly opening: (conversation: Conversation, replyPrefix: string) => Effect.Effect<readonly TextPart[], string>;
  /** From the token that ends a reply, which it begins with, up to the next reply. */
  readonly bridge: (
    added: readonly Message[],
    tools: readonly Tool[],
    replyPrefix: string,
  ) => Effect.Effect<readonly TextPart[], string>;
  /** A reply that nobody sampled, from behind its prefix to the token that ends it. */
  readonly reply: (
    message: AssistantMessage,
    tools: readonly Tool[],
    replyPrefix: string,
  ) => Effect.Effect<readonly TextPart[], string>;
  /** The template's text around tools, calls and results. Its tokens are guarded like those of turns where a conversation has tools. */
  readonly toolStructure: string;
  readonly read: (reply: string, tools: readonly Tool[]) => ReadReply;
  readonly toolsProblem: string | undefined;
  readonly rewriting: (added: readonly Message[], replyPrefix: string) => string | undefined;
  readonly isAppendOnly: boolean;
}

/** True if messages or offered tools make tokens of tools part of a conversation's structure. */
export const usesTools = (messages: readonly Message[], tools: readonly Tool[]): boolean =>
  tools.length > 0 ||
  messages.some((message) => message.role === "tool" || (message.role === "assistant" && message.calls.length > 0));
