/**
 * Reads a sampled reply: thoughts, tool calls, and the text that is left for the client. Pure.
 * Invariant: text that is no call stays in the reply's text; a call that cannot be read stays there too, with a sentence that says why.
 */
import type { Tool } from "../../../domain/Conversation.ts";

export interface ReadCall {
  readonly name: string;
  readonly arguments: unknown;
}

/** A text parted into its tool calls and the rest. */
export interface CallReading {
  readonly text: string;
  readonly calls: readonly ReadCall[];
  /** Sentences on calls that could not be read. */
  readonly problems: readonly string[];
}

export interface ReadReply extends CallReading {
  /** The thoughts that the reply begins with; null where it has none. */
  readonly reasoning: string | null;
}

/** Reads the calls of `tools` from a reply without its thoughts. */
export type CallReader = (text: string, tools: readonly Tool[]) => CallReading;

const leadingThought = /^\s*<think>([\s\S]*?)(?:<\/think>\s*|$)/;

/** Reads a whole reply. A thought that nothing closes takes all of it, as in a reply that was cut. */
export const readReply =
  (readCalls: CallReader) =>
  (reply: string, tools: readonly Tool[]): ReadReply => {
    const thought = leadingThought.exec(reply);
    const rest = thought === null ? reply : reply.slice(thought[0].length);
    const reasoning = thought?.[1]?.trim() ?? "";
    return { ...readCalls(rest, tools), reasoning: reasoning === "" ? null : reasoning };
  };

/** Says that a reply calls what was not offered. */
export const unknownTool = (name: string): string => `it calls ${JSON.stringify(name)}, which is no tool of this call`;
