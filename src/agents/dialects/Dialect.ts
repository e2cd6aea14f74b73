/** A dialect of the wire: how one kind of client asks for a reply of the model, and how it is answered. Pure. */
import type { IncomingHttpHeaders } from "node:http";
import type { Result } from "effect";
import type { AssistantMessage, Conversation, Tool, ToolCall, ToolChoice } from "../../domain/Conversation.ts";
import type { Problem } from "../../support/http/Problem.ts";

/** A client's wishes for sampling, each absent where it says nothing. Training samples as the run file says, and records these beside it. */
export interface SamplingWishes {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly seed?: number;
  /** Most tokens of the reply, its thoughts included. */
  readonly maxTokens?: number;
  /** Texts that end the reply for the client. */
  readonly stop: readonly string[];
  /** Wishes that no run grants, in words: `logit_bias`. */
  readonly neverGranted?: readonly string[];
}

/** A call to the model. */
export interface ModelCall {
  readonly conversation: Conversation;
  /** True if the first message is instructions of this call alone: a call that names it as `previous` goes on without them. */
  readonly hasInstructions: boolean;
  readonly toolChoice: ToolChoice;
  readonly wishes: SamplingWishes;
  readonly isStreamed: boolean;
  /** True if a stream of chat completions ends with its usage. The other dialects stream it always. */
  readonly isUsageStreamed: boolean;
  /** Name of the model as the client has it. */
  readonly model: string;
  /** Id, without prefix, of the answer whose conversation this one goes on with, where the dialect lets clients leave it out (`previous_response_id`, `thread`). */
  readonly previous: string | null;
}

/** Reply to a call. */
export interface ModelAnswer {
  /** Unique in the run, without the dialect's prefix. */
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  /** Text for the client: without thoughts and tool calls. */
  readonly text: string;
  /** The thoughts, where the reply has some. */
  readonly reasoning: string | null;
  readonly calls: readonly ToolCall[];
  /** Why it ended: by itself, with tool calls, or at its limit of tokens. */
  readonly finish: "stop" | "tool_calls" | "length";
  /** The stop text of the client that ended it; null where none did. */
  readonly stop: string | null;
  /** Tokens shown and sampled. */
  readonly usage: { readonly prompt: number; readonly reply: number };
}

/** An earlier answer of the episode: its reply, and the tools that its call offered. */
export interface EarlierAnswer {
  readonly reply: AssistantMessage;
  readonly tools: readonly Tool[];
}

/** Finds an earlier answer in the episode by its id; null if there is none. */
export type Recall = (id: string) => EarlierAnswer | null;

export interface Dialect {
  readonly name: "chat" | "responses" | "messages";
  readonly path: `/v1/${string}`;
  /** The key of the episode that a request carries; null where it has none. */
  readonly keyOf: (headers: IncomingHttpHeaders) => string | null;
  /**
   * Reads a request's body, already parsed from JSON. A failure is a `Problem` with status 400 that names the field. Clients may name
   * earlier answers or pieces of them in place of sending them; `recall` looks these up, and they are refused without it.
   */
  readonly read: (body: unknown, recall?: Recall) => Result.Result<ModelCall, Problem>;
  /** The body of an answer, to be written as JSON. */
  readonly answer: (answer: ModelAnswer, call: ModelCall) => unknown;
  /** The whole event stream of an answer, as the text of server-sent events. */
  readonly stream: (answer: ModelAnswer, call: ModelCall) => string;
  /** An error's body in the form that this dialect's clients read. */
  readonly error: (problem: Problem) => unknown;
  /** An event that clients skip, for a stream that would else be silent for long. */
  readonly keepAlive: string;
  /** The event of an error in a stream that has begun. */
  readonly streamError: (problem: Problem) => string;
}
