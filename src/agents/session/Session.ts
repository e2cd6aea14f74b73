/**
 * One episode of an agent, as the endpoint serves it: its calls are answered, any number at once, and kept as a tree. Invariant: an episode that has
 * ended answers nothing any more.
 */
import { Deferred, Effect, Exit } from "effect";
import type { AssistantMessage, Conversation, ToolCall } from "../../domain/Conversation.ts";
import type { TruncationReason } from "../../domain/Episode.ts";
import { badRequest, Problem } from "../../support/http/Problem.ts";
import type { EarlierAnswer, ModelAnswer, ModelCall } from "../dialects/Dialect.ts";
import { type CallNode, CallTree, type Placement, transcriptOf } from "../tree/CallTree.ts";
import type { Replies } from "./Replies.ts";
import { type Attempt, SentBodies } from "./SentBodies.ts";

export interface SessionSettings {
  /** Begins the ids of its answers. No other open episode has it. */
  readonly name: string;
  /** Most calls of the episode. One beyond them gets an empty answer that is cut. */
  readonly calls: number;
  readonly replies: Replies;
}

/** An answer beyond the budget, as later calls name it. */
const cutAnswer: EarlierAnswer = { reply: { role: "assistant", text: "", calls: [] }, tools: [] };

export const ended = new Problem({ status: 410, message: "this episode has ended" });

export class Session {
  readonly tree = new CallTree();
  readonly #settings: SessionSettings;
  readonly #sent = new SentBodies();
  /** Fails once the episode has ended. */
  readonly #end = Deferred.makeUnsafe<never, Problem>();
  /** Wishes of calls that are not granted, in words: `temperature 0.2`. */
  readonly ignoredWishes = new Set<string>();
  /** Answers by their ids, which no other episode has. */
  readonly #answers = new Map<string, CallNode>();
  #limit: TruncationReason | null = null;
  #setupProblem: string | null = null;
  #hasEnded = false;

  constructor(settings: SessionSettings) {
    this.#settings = settings;
  }

  /** Id of the answers that were cut without a reply. */
  get #cutId(): string {
    return `${this.#settings.name}cut`;
  }

  /** The limit that cut the episode; null where none did. */
  get limit(): TruncationReason | null {
    return this.#limit;
  }

  /** The reason why the run's model cannot answer calls of this agent; null while it could. It fails the episode. */
  get setupProblem(): string | null {
    return this.#setupProblem;
  }

  /** The call whose answer has this id; null where this episode has none. */
  callOf(id: string): CallNode | null {
    return this.#answers.get(id) ?? null;
  }

  /** The answer with this id; null where this episode has none. */
  recall(id: string): EarlierAnswer | null {
    return this.#limit !== null && id === this.#cutId ? cutAnswer : this.callOf(id);
  }

  /**
   * Answers a call. An answer beyond the budget is empty, ends with `length`, and is no call of the tree. A call that its client marks as a retry
   * gets the answer of the first attempt.
   */
  answer(call: ModelCall, attempt: Attempt | null = null): Effect.Effect<ModelAnswer, Problem> {
    const fresh = Effect.suspend(() => this.#answer(call));
    return attempt === null ? fresh : this.#sent.answer(attempt, fresh);
  }

  /** Number of tokens that a call would show. */
  countTokens(call: ModelCall): Effect.Effect<number, Problem> {
    return Effect.gen({ self: this }, function* () {
      if (this.#hasEnded) return yield* ended;
      const { conversation, problem } = yield* this.#conversationOf(call);
      if (problem !== null) return yield* badRequest(problem);
      return yield* this.#settings.replies.countTokens(conversation);
    });
  }

  /** Ends the episode: calls fail from now on, running ones are cancelled, and what it holds is freed. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    this.#hasEnded = true;
    Deferred.doneUnsafe(this.#end, Effect.fail(ended));
    return this.#settings.replies.end;
  });

  #answer(call: ModelCall): Effect.Effect<ModelAnswer, Problem> {
    return Effect.gen({ self: this }, function* () {
      if (this.#hasEnded) return yield* ended;
      if (this.#limit !== null && call.previous === this.#cutId) return this.#cut(this.#limit);
      const { conversation, problem } = yield* this.#conversationOf(call);
      if (problem !== null) {
        this.#setupProblem ??= problem;
        return yield* badRequest(problem);
      }
      const { calls, replies } = this.#settings;
      for (const wish of replies.ignoredBy(call)) this.ignoredWishes.add(wish);
      if (this.tree.size + this.tree.openCalls >= calls) return this.#cut("max_turn");
      if (replies.isTooLong(conversation)) return this.#cut("context");
      const placement = this.tree.place(conversation, (added) => replies.isRewriting(added));
      return yield* Effect.onExit(this.#answerAt(placement, conversation, call), (exit) =>
        Effect.sync(() => Exit.isFailure(exit) && this.tree.withdraw(placement)),
      );
    });
  }

  #answerAt(
    placement: Placement,
    conversation: Conversation,
    { toolChoice, wishes }: ModelCall,
  ): Effect.Effect<ModelAnswer, Problem> {
    return Effect.gen({ self: this }, function* () {
      const { name, replies } = this.#settings;
      const replied = yield* Effect.raceFirst(
        replies.reply({ placement, conversation, toolChoice, wishes }),
        Deferred.await(this.#end),
      );
      if (replied === null) {
        this.tree.withdraw(placement);
        return this.#cut("context");
      }
      const { problems, prompt, reasoning, sampled, stop, text, usage } = replied;
      const id = `${name}c${this.tree.size}`;
      const calls = replied.calls.map(
        ({ arguments: values, name }, at): ToolCall => ({ id: `call_${id}_${at}`, name, arguments: values }),
      );
      const reply: AssistantMessage = { role: "assistant", text, calls };
      this.#answers.set(id, this.tree.add(placement, { prompt, sampled, reply, problems }));
      const finish = sampled.finish === "length" ? "length" : calls.length > 0 ? "tool_calls" : "stop";
      return { id, created: secondsNow(), text, reasoning, calls, finish, stop, usage };
    });
  }

  /** The whole conversation of a call, and the reason why the run's model can answer no call like it; null while it can. */
  #conversationOf(
    call: ModelCall,
  ): Effect.Effect<{ readonly conversation: Conversation; readonly problem: string | null }, Problem> {
    return Effect.map(this.#wholeConversation(call), (conversation) => ({
      conversation,
      problem: this.#settings.replies.setupProblem(conversation),
    }));
  }

  /** The messages of a call, those before the answer that it goes on from included. */
  #wholeConversation({ conversation, hasInstructions, previous }: ModelCall): Effect.Effect<Conversation, Problem> {
    if (previous === null) return Effect.succeed(conversation);
    const node = this.#answers.get(previous);
    if (node === undefined) return Effect.fail(badRequest("previous_response_id: this episode has no such answer"));
    const past = transcriptOf(node);
    const { messages: added } = conversation;
    // Instructions of a call take the place of those before.
    const messages = hasInstructions
      ? [...added.slice(0, 1), ...past.filter(({ role }) => role !== "system"), ...added.slice(1)]
      : [...past, ...added];
    return Effect.succeed({ ...conversation, messages });
  }

  #cut(limit: TruncationReason): ModelAnswer {
    this.#limit ??= limit;
    const empty = { text: "", reasoning: null, calls: [], finish: "length", stop: null } as const;
    return { id: this.#cutId, created: secondsNow(), ...empty, usage: { prompt: 0, reply: 0 } };
  }
}

const secondsNow = (): number => Math.floor(Date.now() / 1000);
