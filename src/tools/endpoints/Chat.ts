/**
 * One exchange with a chat endpoint, apart from the protocol that carries it: messages go in, a reply comes out. A reply that was cut or
 * kept back is a reply; a request without one is an `Unanswered`.
 */
import { Schema } from "effect";
import type { SamplingField } from "../../config/players.ts";
import type { Tool, ToolCall, ToolChoice } from "../../domain/Conversation.ts";
import type { Message, ReplyEnd } from "../evaluation/EvaluatedEpisode.ts";

/** Tokens as the endpoint counts them. */
export interface Usage {
  readonly prompt: number;
  readonly reply: number;
}

/** A message of a chat: a text, a reply with tool calls, or the result of one. */
export type ChatMessage =
  | Message
  | { readonly role: "assistant"; readonly content: string; readonly calls: readonly ToolCall[] }
  | { readonly role: "tool"; readonly content: string; readonly call: string };

/** The tools that a reply may call, and whether it must. */
export interface OfferedTools {
  readonly list: readonly Tool[];
  readonly choice: ToolChoice;
}

/** Fields of a request that decide its sampling, beside those of the run file; each is absent where it is left to the endpoint. */
export interface SamplingFields {
  readonly topP?: number;
  readonly topK?: number;
  readonly seed?: number;
  /** Texts that end the reply. */
  readonly stop?: readonly string[];
}

export interface ChatReply {
  /** As the model wrote it. */
  readonly text: string;
  /** Tool calls, with the endpoint's ids; absent where there are none. */
  readonly calls?: readonly ToolCall[];
  readonly finish: ReplyEnd;
  /** Null where the endpoint does not say. */
  readonly usage: Usage | null;
}

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** Absent where a reply may call none. */
  readonly tools?: OfferedTools;
  readonly sampling?: SamplingFields;
  /** Null leaves it to the endpoint. */
  readonly temperature: number | null;
  readonly maxTokens: number | null;
  /** Further fields of the body. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** The form of an endpoint's requests and replies. Pure. */
export interface Protocol {
  /** Behind the base address. */
  readonly path: string;
  readonly headers: (key: string | null) => Readonly<Record<string, string>>;
  /** The fields of sampling that its requests can have. */
  readonly samplingFields: readonly SamplingField[];
  readonly body: (request: ChatRequest) => object;
  /** The reply of a body, parsed from JSON; null of one that has another shape. */
  readonly read: (body: unknown) => ChatReply | null;
}

/** A request that has no reply. `context`: the chat is longer than the model takes; `rejected`: this request; `exhausted`: after all retries. */
export class Unanswered extends Schema.TaggedError<Unanswered>()("Unanswered", {
  reason: Schema.Literals(["context", "rejected", "exhausted"]),
  message: Schema.String,
}) {}

/** Nothing more is asked of the endpoint. `message` is a sentence for the user. */
export class EndpointStopped extends Schema.TaggedError<EndpointStopped>()("EndpointStopped", {
  reason: Schema.Literals(["budget", "circuit", "quota", "refused"]),
  message: Schema.String,
}) {}
