/** The source of an episode's replies: the policy in training, an endpoint in an evaluation. A session places its calls and keeps what was replied. */
import type { Effect } from "effect";
import type { Conversation, Message, ToolCall } from "../../domain/Conversation.ts";
import type { Sampled } from "../../domain/Episode.ts";
import type { Problem } from "../../support/http/Problem.ts";
import type { ModelAnswer, ModelCall } from "../dialects/Dialect.ts";
import type { Placement } from "../tree/CallTree.ts";

/** A call that has its place in the episode's tree. */
export interface PlacedCall extends Pick<ModelCall, "toolChoice" | "wishes"> {
  readonly placement: Placement;
  /** All messages of its path, and its tools. */
  readonly conversation: Conversation;
}

export interface CallReply extends Pick<ModelAnswer, "text" | "reasoning" | "stop" | "usage"> {
  /** Ids behind the parent's reply, and those of the reply; none of a source that has no ids. */
  readonly prompt: Int32Array;
  readonly sampled: Sampled;
  readonly calls: readonly Omit<ToolCall, "id">[];
  /** Sentences on tool calls that could not be read. */
  readonly problems: readonly string[];
}

export interface Replies {
  /** The wishes of a call that are not granted, in words: `temperature 0.2`. */
  readonly ignoredBy: (call: Pick<ModelCall, "toolChoice" | "wishes">) => readonly string[];
  /** Says why the run's model can answer no call like this one; null where it can. The fault is the setup's, not the call's. */
  readonly setupProblem: (conversation: Conversation) => string | null;
  /** True for a conversation that cannot fit, which is told without rendering it. */
  readonly isTooLong: (conversation: Conversation) => boolean;
  /** Number of tokens that a conversation would show, or an estimate of it. */
  readonly countTokens: (conversation: Conversation) => Effect.Effect<number, Problem>;
  /** True for messages behind a reply that change how earlier ones are shown. */
  readonly isRewriting: (added: readonly Message[]) => boolean;
  /** Replies to a call; null where its context has no room for a reply. */
  readonly reply: (call: PlacedCall) => Effect.Effect<CallReply | null, Problem>;
  /** Frees what the episode holds. */
  readonly end: Effect.Effect<void>;
}
