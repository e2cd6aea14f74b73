/** The clients that are tested: programs in the folder programs, and how each tells its user what the endpoint said. */
import type { Dialect } from "../../src/agents/dialects/Dialect.ts";

/** Words for the ends of a reply: by itself, at its limit of tokens, and at a stop text. Some clients throw an error at the limit: its class. */
interface Finishes {
  readonly stop: string | null;
  readonly length: string | null;
  readonly lengthOfStream: string | null;
  /** Absent where an empty answer beyond the budget ends as any other at its limit. */
  readonly beyondBudget?: string;
  readonly stopText: string | null;
}

export interface Client {
  readonly name: string;
  readonly file: string;
  /** Argument of the program. */
  readonly variant: string;
  readonly dialect: Dialect["name"];
  /** Class of the error that it throws for a wrong key. */
  readonly refusal: string;
  /** True if it can send texts that end a reply. */
  readonly hasStop: boolean;
  /** True if it names an earlier answer in place of the messages up to it. */
  readonly namesAnswers: boolean;
  /** Part of its error where a stream breaks off, or of the text that it gets when it asks again. */
  readonly breakOff: string;
  /** True if it asks again where a streamed reply has no text. */
  readonly asksAgain: boolean;
  /** True if it leaves replies without a text out of the messages that it sends back. */
  readonly leavesOutEmpty: boolean;
  readonly finishes: Finishes;
}

const chat: Finishes = { stop: "stop", length: "length", lengthOfStream: "length", stopText: "stop" };
const responses: Finishes = {
  stop: "completed",
  length: "max_output_tokens",
  lengthOfStream: "max_output_tokens",
  stopText: null,
};
const messages: Finishes = {
  stop: "end_turn",
  length: "max_tokens",
  lengthOfStream: "max_tokens",
  stopText: "stop_sequence",
};
/** The runner of @openai/agents tells nothing about the ends of replies, and throws where it can make nothing of one. */
const thrown = "ModelBehaviorError";
const runner: Finishes = { stop: null, length: null, lengthOfStream: null, beyondBudget: thrown, stopText: null };

const finishesOf = { chat, responses, messages };

const client = (
  name: string,
  file: string,
  variant: string,
  dialect: Dialect["name"],
  more: Partial<Client> = {},
): Client => ({
  ...{ name, file, variant, dialect },
  refusal: "AuthenticationError",
  hasStop: dialect !== "responses",
  namesAnswers: false,
  breakOff: "the generator is gone",
  asksAgain: false,
  leavesOutEmpty: false,
  finishes: finishesOf[dialect],
  ...more,
});

const aiSdk = { refusal: "APICallError", finishes: chat, breakOff: "In Rome." };

export const clients: readonly Client[] = [
  client("openai", "openaiChat.mjs", "chat", "chat"),
  client("openai (Responses)", "openaiResponses.mjs", "items", "responses"),
  client("openai (Responses, previous_response_id)", "openaiResponses.mjs", "previous", "responses", {
    namesAnswers: true,
  }),
  client("ai (OpenAI)", "ai.mjs", "responses", "responses", aiSdk),
  client("ai (OpenAI, chat)", "ai.mjs", "chat", "chat", { ...aiSdk, leavesOutEmpty: true }),
  client("ai (Anthropic)", "ai.mjs", "messages", "messages", { ...aiSdk, leavesOutEmpty: true }),
  client("@anthropic-ai/sdk", "anthropic.mjs", "messages", "messages"),
  client("@anthropic-ai/sdk (tool runner)", "anthropic.mjs", "runner", "messages", { namesAnswers: true }),
  client("@langchain/openai", "langchain.mjs", "chat", "chat"),
  client("@langchain/openai (Responses)", "langchain.mjs", "responses", "responses"),
  client("@openai/agents", "openaiAgents.mjs", "responses", "responses", {
    finishes: { ...runner, length: thrown, lengthOfStream: thrown },
  }),
  client("@openai/agents (chat)", "openaiAgents.mjs", "chat", "chat", {
    finishes: runner,
    asksAgain: true,
    hasStop: false,
  }),
  client("openai for Python", "openai_python.py", "chat", "chat", {
    finishes: { ...chat, lengthOfStream: "LengthFinishReasonError" },
  }),
  client("openai for Python (Responses)", "openai_python.py", "responses", "responses", {
    finishes: { ...responses, lengthOfStream: "RuntimeError" },
    breakOff: "Expected to have received `response.created`",
  }),
  client("anthropic for Python", "anthropic_python.py", "messages", "messages"),
  client("anthropic for Python (tool runner)", "anthropic_python.py", "runner", "messages", { namesAnswers: true }),
  client("litellm (OpenAI)", "litellm_python.py", "openai", "chat"),
  client("litellm (Anthropic)", "litellm_python.py", "anthropic", "messages", { finishes: chat, leavesOutEmpty: true }),
];
