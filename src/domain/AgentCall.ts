/**
 * The place of an agent's call in the tree of its episode, with the messages around it. Invariants: an episode's calls are numbered in the
 * order of their answers, so a parent has a lower number; a call that begins anew has no parent.
 */
import { Schema } from "effect";
import type { Message, ToolCall } from "./Conversation.ts";
import { Count } from "./Count.ts";
import { type ForkReason, forkReasons } from "./forks.ts";

/** A call of an agent, as its turn carries it. */
export interface AgentCall {
  /** Number of its answer in the episode, from 0. */
  readonly number: number;
  /** Number of the call that it goes on from; null for a root. */
  readonly parent: number | null;
  /** Null unless the call begins a root beside others. A root without a reason is the first, or repeats the messages of another. */
  readonly fork: ForkReason | null;
  /** Names of the tools that it offers. Absent behind a parent, which offers the same, and where it offers none. */
  readonly tools?: readonly string[];
  /** Messages behind the parent's reply; all of them in a root. */
  readonly added: readonly Message[];
  /** Tool calls of its reply. */
  readonly calls: readonly ToolCall[];
  /** Sentences on tool calls of its reply that could not be read. */
  readonly problems: readonly string[];
}

const ToolCalls = Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String, arguments: Schema.Unknown }));

const Messages = Schema.Array(
  Schema.Union([
    Schema.Struct({ role: Schema.Literals(["system", "user"]), text: Schema.String }),
    Schema.Struct({ role: Schema.Literal("assistant"), text: Schema.String, calls: ToolCalls }),
    Schema.Struct({ role: Schema.Literal("tool"), call: Schema.String, text: Schema.String }),
  ]),
);

/** Reads a call from a record, or from a worker's group. */
export const AgentCallSchema: Schema.Codec<AgentCall> = Schema.Struct({
  number: Count,
  parent: Schema.NullOr(Count),
  fork: Schema.NullOr(Schema.Literals(forkReasons)),
  tools: Schema.optionalKey(Schema.Array(Schema.String)),
  added: Messages,
  calls: ToolCalls,
  problems: Schema.Array(Schema.String),
});
