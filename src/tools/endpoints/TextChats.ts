/**
 * The chats of one episode with an endpoint: the messages that it is shown before each turn. They are those of a local policy in every
 * context mode (`rollout/Chats.ts`), apart from the replies, which it is shown as it wrote them. Only the endpoint knows how long a chat
 * may be. A chat that it refuses is opened again without its oldest turns, where `rollout.overflow` says so.
 */
import { Effect } from "effect";
import {
  firstTurnShown,
  firstUserMessage,
  isTurnLevel,
  openingMessages,
  opensLikeTurnOne,
  type TextHistory,
} from "../../rollout/context.ts";
import { Summaries, type WrittenSummary } from "../../rollout/Summaries.ts";
import type { Task } from "../../rollout/Task.ts";
import type { Opening, PastTurn, TurnState } from "../../rollout/Template.ts";
import type { EvaluatedSummary, EvaluatedTurn, Message } from "../evaluation/EvaluatedEpisode.ts";
import type { ChatReply, EndpointStopped, Unanswered } from "./Chat.ts";
import type { ChatClient, CompletionOptions } from "./ChatClient.ts";

type ChatError = Unanswered | EndpointStopped;

/** A turn that was played, and the user message after it. */
interface Past {
  readonly past: PastTurn;
  /** As the endpoint wrote it. */
  readonly text: string;
  readonly next: string;
}

/** A reply, and where in the episode it stands. */
export interface PlacedReply extends Pick<EvaluatedTurn, "sequence" | "shown"> {
  readonly reply: ChatReply;
}

export const userMessage = (content: string): Message => ({ role: "user", content });
export const assistantMessage = (content: string): Message => ({ role: "assistant", content });

/** The messages of an opening; an empty system message is left out. */
export const messagesOf = ({ system, user }: Opening): readonly Message[] => [
  ...(system === "" ? [] : [{ role: "system", content: system } as const]),
  userMessage(user),
];

/** The counts that an endpoint reports for a reply's tokens. */
export const countedOf = ({ finish, usage }: ChatReply) => ({
  finish,
  promptTokens: usage?.prompt ?? null,
  tokens: usage?.reply ?? null,
  entropy: null,
});

export class TextChats {
  readonly #rollout: TextHistory["rollout"];
  readonly #task: Task;
  readonly #client: ChatClient;
  readonly #opening: Opening;
  readonly #notes: Summaries<Omit<EvaluatedSummary, "sequence">, ChatError>;
  readonly #summaries: EvaluatedSummary[] = [];
  readonly #history: Past[] = [];
  /** The first turn that the chat shows, and the user message that shows it; null before the first chat. */
  #from = 1;
  #head: string | null = null;
  /** Token sequences so far. */
  #sequences = 0;

  constructor(rollout: TextHistory["rollout"], task: Task, client: ChatClient, first: TurnState) {
    this.#rollout = rollout;
    this.#task = task;
    this.#client = client;
    this.#opening = openingMessages(rollout, task, first);
    this.#notes = new Summaries(rollout, task, (prompt) => this.#summarize(prompt));
  }

  /** The summaries that the endpoint has written, in order. */
  get summaries(): readonly EvaluatedSummary[] {
    return this.#summaries;
  }

  /** Asks for the reply to a turn; null where the chat is longer than the model takes. */
  ask(now: TurnState): Effect.Effect<PlacedReply | null, ChatError> {
    return Effect.gen({ self: this }, function* () {
      const { limits } = this.#rollout;
      let first = firstTurnShown(limits, now.turn, this.#from);
      if (this.#head !== null && limits.context !== "single_turn" && first === this.#from) {
        const reply = yield* this.#complete(this.#shown(first, this.#head));
        if (reply !== null) return this.#continued(reply, first, this.#head);
        if (limits.overflow === "end") return null;
        first++;
      }
      for (let from = first; from <= now.turn; from++) {
        const head = yield* this.#firstMessage(from, now);
        const reply = yield* this.#complete(this.#shown(from, head));
        if (reply !== null) return this.#reopened(reply, from, head);
        if (limits.overflow === "end") return null;
      }
      return null;
    });
  }

  /** Notes a turn and the user message that follows it. */
  add(past: PastTurn, text: string, next: string): void {
    this.#history.push({ past, text, next });
  }

  /** The messages of a chat that shows the turns from `from` on, the first of them by `head`. */
  #shown(from: number, head: string): readonly Message[] {
    const turns = this.#rollout.limits.context === "single_turn" ? [] : this.#history.slice(from - 1);
    const after = turns.flatMap(({ next, text }) => [assistantMessage(text), userMessage(next)]);
    return [...messagesOf({ ...this.#opening, user: head }), ...after];
  }

  /** Builds the first user message of a new chat, and has the summaries written that it needs. */
  #firstMessage(from: number, now: TurnState): Effect.Effect<string, ChatError> {
    const scene = { rollout: this.#rollout, task: this.#task, history: this.#history, now };
    const before = this.#history.slice(0, from - 1).map(({ past }) => past);
    return Effect.map(this.#notes.summarise(before), ({ records, text }) => {
      this.#summaries.push(...records.map((record) => ({ ...record, sequence: this.#sequences++ })));
      return opensLikeTurnOne(scene, from) ? this.#opening.user : firstUserMessage(scene, from, text);
    });
  }

  /** Places the reply to the present chat. */
  #continued(reply: ChatReply, from: number, head: string): PlacedReply {
    if (isTurnLevel(this.#rollout.limits)) this.#sequences++;
    return this.#placed(reply, from, head);
  }

  #reopened(reply: ChatReply, from: number, head: string): PlacedReply {
    this.#from = from;
    this.#head = head;
    this.#sequences++;
    return this.#placed(reply, from, head);
  }

  #placed(reply: ChatReply, from: number, head: string): PlacedReply {
    const whole = from === 1 && this.#rollout.limits.context !== "single_turn";
    const sequence = this.#sequences - 1;
    return whole ? { reply, sequence } : { reply, sequence, shown: this.#shown(from, head) };
  }

  #complete(messages: readonly Message[], options: CompletionOptions = {}): Effect.Effect<ChatReply | null, ChatError> {
    return this.#client
      .complete(messages, options)
      .pipe(
        Effect.catchTag("Unanswered", (error: Unanswered) =>
          error.reason === "context" ? Effect.succeed(null) : Effect.fail(error),
        ),
      );
  }

  #summarize(prompt: string): Effect.Effect<WrittenSummary<Omit<EvaluatedSummary, "sequence">> | null, ChatError> {
    const messages = messagesOf({ ...this.#opening, user: prompt });
    return Effect.map(this.#complete(messages, { maxTokens: this.#rollout.limits.summary_length }), (reply) => {
      if (reply === null) return null;
      const text = reply.text.trim();
      return { text, record: { asked: prompt, text, ...countedOf(reply) } };
    });
  }
}
