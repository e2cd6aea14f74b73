/** A run's model as agents call it: conversations as ids, and sampled ids as replies. */
import type { Effect } from "effect";
import type { Conversation, Message, Tool } from "../../domain/Conversation.ts";
import type { Sampled } from "../../domain/Episode.ts";
import type { ReadReply } from "../../model/tokenizer/conversation/readReply.ts";

/** A reply as its client gets it, and the stop text that cut it; null where none did. */
export interface ReadAnswer extends ReadReply {
  readonly stop: string | null;
}

export interface AgentModel {
  /** Ids of a conversation up to its next reply. A failure is a sentence on what the model's template cannot write. */
  readonly opening: (conversation: Conversation) => Effect.Effect<Int32Array, string>;
  /** Ids from behind the token that ended a reply up to the next reply. */
  readonly bridge: (added: readonly Message[], tools: readonly Tool[]) => Effect.Effect<Int32Array, string>;
  /** Says why calls cannot offer or use tools, and what a user can do; undefined where they can. */
  readonly toolsProblem: string | undefined;
  /** Says what the template changes in earlier texts once messages follow a reply; undefined where they stay as they were. */
  readonly rewriting: (added: readonly Message[]) => string | undefined;
  /** A bridge behind a sampled reply, with the end token that the reply lacks where it was cut. */
  readonly afterReply: (sampled: Sampled, bridge: Int32Array) => Int32Array;
  /** Text of a reply, its prefix included and its end token left out. */
  readonly textOf: (sampled: Sampled) => string;
  /** Reads a reply up to the first of the client's stop texts. */
  readonly read: (sampled: Sampled, tools: readonly Tool[], stops: readonly string[]) => ReadAnswer;
}
