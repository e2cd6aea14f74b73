/** Answers, the calls that ask for them, and what a client reads of them. */
import { Result } from "effect";
import type { Dialect, EarlierAnswer, ModelAnswer, ModelCall, Recall } from "../../../src/agents/dialects/Dialect.ts";
import type { AssistantMessage, Message } from "../../../src/domain/Conversation.ts";
import type { Problem } from "../../../src/support/http/Problem.ts";

export const textAnswer: ModelAnswer = {
  id: "a1",
  created: 1_700_000_000,
  text: "It is sunny.",
  reasoning: null,
  calls: [],
  finish: "stop",
  stop: null,
  usage: { prompt: 10, reply: 5 },
};

export const toolAnswer: ModelAnswer = {
  ...textAnswer,
  id: "a2",
  text: "",
  reasoning: "The forecast knows.",
  calls: [{ id: "call_1", name: "weather", arguments: { city: "Paris" } }],
  finish: "tool_calls",
};

/** The message that a client's history holds for an answer. */
export const replyOf = ({ calls, text }: ModelAnswer): AssistantMessage => ({ role: "assistant", text, calls });

/** The answer as the episode remembers it. */
export const earlierAnswer = (answer: ModelAnswer, tools: EarlierAnswer["tools"] = []): EarlierAnswer => ({
  reply: replyOf(answer),
  tools,
});

/** Reads a body that the dialect must take. */
export const callIn = (dialect: Dialect, body: unknown, recall?: Recall): ModelCall =>
  Result.getOrThrow(dialect.read(body, recall));

export const messagesIn = (dialect: Dialect, body: unknown, recall?: Recall): readonly Message[] =>
  callIn(dialect, body, recall).conversation.messages;

/** The problem of a body that the dialect must refuse. */
export const problemIn = (dialect: Dialect, body: unknown, recall?: Recall): Problem =>
  Result.getOrThrow(Result.flip(dialect.read(body, recall)));

/** The sentence of that problem. */
export const refusalIn = (dialect: Dialect, body: unknown): string => problemIn(dialect, body).message;

export interface StreamedEvent {
  /** Absent where the event has no name. */
  readonly event?: string;
  readonly data: unknown;
}

/** The events of a stream. Data that is no JSON is left as text. */
export const eventsIn = (text: string): readonly StreamedEvent[] =>
  text
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block) => {
      const lines = block.split("\n").map((line): readonly [string, string] => {
        const at = line.indexOf(": ");
        return [line.slice(0, at), line.slice(at + 2)];
      });
      const { data = "", event } = Object.fromEntries(lines);
      return { ...(event === undefined ? {} : { event }), data: data === "[DONE]" ? data : JSON.parse(data) };
    });
