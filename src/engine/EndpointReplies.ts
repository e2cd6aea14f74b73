/**
 * Replies of a chat endpoint to an agent's calls: each call is one request of the client, which keeps the budget, the rates and the retries.
 * Invariant: a call that the endpoint does not answer ends its episode, so that no agent makes a reward of it.
 */
import { Effect } from "effect";
import type { CallReply, PlacedCall, Replies } from "../agents/session/Replies.ts";
import { charactersOf, type Message, type ToolCall } from "../domain/Conversation.ts";
import type { Sampled } from "../domain/Episode.ts";
import { Problem } from "../support/http/Problem.ts";
import { argumentsText } from "../support/text/callArguments.ts";
import type { ChatMessage, ChatReply, EndpointStopped, Unanswered } from "../tools/endpoints/Chat.ts";
import type { ChatClient } from "../tools/endpoints/ChatClient.ts";
import { countedOf } from "../tools/endpoints/TextChats.ts";
import type { Wishes } from "../tools/endpoints/wishes.ts";

/** Characters of a token of text, by which conversations are measured for agents that ask. */
const charactersPerToken = 4;

const messageOf = (message: Message): ChatMessage => {
  const { role, text: content } = message;
  if (role === "tool") return { role, content, call: message.call };
  return role === "assistant" ? { role, content, calls: message.calls } : { role, content };
};

/** An endpoint tells no ids of its replies. Each has a value of its own, by which its reply is found again. */
const withoutIds = (finish: Sampled["finish"]): Sampled => ({
  ids: new Int32Array(0),
  mu: new Float32Array(0),
  versions: new Int32Array(0),
  entropies: new Float32Array(0),
  finish,
});

/** Calls are written behind the text, as a reader of the chat expects them. */
const textOf = ({ calls = [], text }: ChatReply): string =>
  [
    ...(text === "" ? [] : [text]),
    ...calls.map(({ arguments: values, name }) => `${name}(${argumentsText(values)})`),
  ].join("\n");

/** A call whose arguments are no JSON is passed on as it is, for the agent to see. */
const problemsOf = (calls: readonly ToolCall[]): readonly string[] =>
  calls
    .filter(({ arguments: values }) => typeof values === "string")
    .map(({ name }) => `the arguments of ${name} are no JSON`);

export class EndpointReplies {
  readonly #client: ChatClient;
  readonly #ignoredBy: (wishes: Wishes) => readonly string[];
  readonly #replies = new WeakMap<Sampled, ChatReply>();

  constructor(client: ChatClient, ignoredBy: (wishes: Wishes) => readonly string[]) {
    this.#client = client;
    this.#ignoredBy = ignoredBy;
  }

  /** Text of a reply, its tool calls included. */
  textOf(sampled: Sampled): string {
    const reply = this.#replies.get(sampled);
    return reply === undefined ? "" : textOf(reply);
  }

  /** Counts of a reply's tokens, as the endpoint told them; null of a reply that is not its own. */
  countedOf(sampled: Sampled): ReturnType<typeof countedOf> | null {
    const reply = this.#replies.get(sampled);
    return reply === undefined ? null : countedOf(reply);
  }

  /** The replies to one episode. `onFailure` ends it. */
  episode(onFailure: (error: Unanswered | EndpointStopped) => Effect.Effect<void>): Replies {
    return {
      ignoredBy: ({ wishes }) => [...this.#ignoredBy(wishes), ...(wishes.neverGranted ?? [])],
      setupProblem: () => null,
      // Only the endpoint knows how long a chat may be.
      isTooLong: () => false,
      countTokens: (conversation) => Effect.succeed(Math.ceil(charactersOf(conversation) / charactersPerToken)),
      isRewriting: () => false,
      reply: (call) =>
        Effect.catch(this.#reply(call), (error) => {
          if (error._tag === "Unanswered" && error.reason === "context") return Effect.succeed(null);
          return Effect.andThen(onFailure(error), Effect.fail(new Problem({ status: 503, message: error.message })));
        }),
      end: Effect.void,
    };
  }

  #reply({ conversation, toolChoice, wishes }: PlacedCall): Effect.Effect<CallReply, Unanswered | EndpointStopped> {
    const { messages, tools } = conversation;
    const offered = tools.length === 0 ? {} : { tools: { list: tools, choice: toolChoice } };
    return this.#client.complete(messages.map(messageOf), { ...offered, wishes }).pipe(
      Effect.map((reply): CallReply => {
        const { calls = [], finish, text, usage } = reply;
        const sampled = withoutIds(finish === "length" ? "length" : "stop");
        this.#replies.set(sampled, reply);
        const rest = { reasoning: null, stop: null, problems: problemsOf(calls) };
        return { text, calls, ...rest, prompt: sampled.ids, sampled, usage: usage ?? { prompt: 0, reply: 0 } };
      }),
    );
  }
}
