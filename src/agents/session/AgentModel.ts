/** A run's model as agents call it: conversations as ids, and sampled ids as replies. */
import type { Effect } from "effect";
import type { Conversation, Message, Tool, ToolCall } from "../../domain/Conversation.ts";
import type { Sampled } from "../../domain/Episode.ts";

export interface ReadReply {
  /** Text for the client, without thoughts and tool calls. */
  readonly text: string;
  readonly reasoning: string | null;
  readonly calls: readonly Omit<ToolCall, "id">[];
  /** A sentence for each part that looks like a tool call and is none. */
  readonly problems: readonly string[];
}

export interface AgentModel {
  /** Ids of a conversation up to its next reply. A failure is a sentence on what the model's template cannot write. */
  readonly opening: (conversation: Conversation) => Effect.Effect<Int32Array, string>;
  /** Ids from behind the token that ended a reply up to the next reply. */
  readonly bridge: (added: readonly Message[], tools: readonly Tool[]) => Effect.Effect<Int32Array, string>;
  /** A bridge behind a sampled reply, with the end token that the reply lacks where it was cut. */
  readonly afterReply: (sampled: Sampled, bridge: Int32Array) => Int32Array;
  /** Text of a reply, its prefix included and its end token left out. */
  readonly textOf: (sampled: Sampled) => string;
  readonly read: (sampled: Sampled, tools: readonly Tool[]) => ReadReply;
}
