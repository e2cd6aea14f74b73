/**
 * One exchange with a chat endpoint, apart from the protocol that carries it: messages go in, a reply comes out. A reply that was cut or
 * kept back is a reply; a request without one is an `Unanswered`.
 */
import { Schema } from "effect";
import type { Message, ReplyEnd } from "../evaluation/EvaluatedEpisode.ts";

/** Tokens as the endpoint counts them. */
export interface Usage {
  readonly prompt: number;
  readonly reply: number;
}

export interface ChatReply {
  /** As the model wrote it. */
  readonly text: string;
  readonly finish: ReplyEnd;
  /** Null where the endpoint does not say. */
  readonly usage: Usage | null;
}

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly Message[];
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
