/** A style's way to write a conversation without a template of a folder. */
import type { AssistantMessage, Message, Tool } from "../../../domain/Conversation.ts";
import type { TextPart } from "../ChatTexts.ts";
import type { ReadReply } from "./readReply.ts";

export interface Form {
  readonly read: (reply: string, tools: readonly Tool[]) => ReadReply;
  /** From the end of a reply to the next turn. */
  readonly behindReply: string;
  readonly prompt: string;
  /** The text around tools, calls and results. */
  readonly toolStructure: string;
  readonly system: (text: string, tools: readonly Tool[]) => readonly TextPart[];
  /** The text of a reply that nobody sampled, without its end. `replyPrefix` is how replies begin. */
  readonly reply: (message: AssistantMessage, tools: readonly Tool[], replyPrefix: string) => readonly TextPart[];
  readonly turns: (messages: readonly Message[], tools: readonly Tool[], replyPrefix: string) => readonly TextPart[];
}
