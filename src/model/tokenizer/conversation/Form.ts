/** A style's way to write a conversation without a template of a folder. */
import type { Message, Tool } from "../../../domain/Conversation.ts";
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
  readonly turns: (messages: readonly Message[], tools: readonly Tool[], replyPrefix: string) => readonly TextPart[];
}
