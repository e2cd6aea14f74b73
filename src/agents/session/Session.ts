/**
 * One episode of an agent, as the endpoint serves it: its calls are answered by the policy, any number at once, and kept as a tree. Invariants: a
 * reply is sampled behind exactly the ids of its path; an episode that has ended samples nothing any more.
 */
import { Deferred, Effect, Exit } from "effect";
import { concatIds } from "../../domain/Batch.ts";
import {
  type AssistantMessage,
  type Conversation,
  charactersOf,
  type Message,
  type ToolCall,
} from "../../domain/Conversation.ts";
import type { Sampled, TruncationReason, Version } from "../../domain/Episode.ts";
import type { PolicyError } from "../../domain/Errors.ts";
import type { StreamKey } from "../../domain/Random.ts";
import type { Policy, Sampling } from "../../generation/Policy.ts";
import { badRequest, Problem } from "../../support/http/Problem.ts";
import type { EarlierAnswer, ModelAnswer, ModelCall } from "../dialects/Dialect.ts";
import { type CallNode, CallTree, type Placement, pathIds, transcriptOf } from "../tree/CallTree.ts";
import type { AgentModel } from "./AgentModel.ts";
import { type Attempt, SentBodies } from "./SentBodies.ts";

/** The limits of an episode. A call beyond one gets an empty answer that is cut. */
export interface Budget {
  /** Most calls of an episode. */
  readonly calls: number;
  /** Most ids of a call's path, its reply included. */
  readonly contextTokens: number;
  /** Most tokens of one reply. */
  readonly replyTokens: number;
}

/** The part of an episode that its group and mode decide. */
export interface SessionSettings {
  /** Begins the ids of its answers. No other open episode has it. */
  readonly name: string;
  readonly policy: typeof Policy.Service;
  readonly model: AgentModel;
  readonly budget: Budget;
  readonly sampling: Sampling;
  readonly pin: Version | null;
  /** Stream of the draws of a call. */
  readonly keyOf: (placement: Pick<Placement, "stream">) => StreamKey;
  /** Key of the caches of a line of calls. */
  readonly sequenceOf: (line: number) => number;
  /** Reports a failure of the generator, which ends the run. */
  readonly onPolicyFailure: (error: PolicyError) => Effect.Effect<void>;
}

/** Characters of a conversation for each token of the context, above which it is too long without being rendered. Text has four. */
const mostCharacters = 16;

const ended = new Problem({ status: 410, message: "this episode has ended" });
const lost = new Problem({ status: 503, message: "the generator is gone" });

export class Session {
  readonly tree = new CallTree();
  readonly #settings: SessionSettings;
  readonly #sent = new SentBodies();
  /** Fails once the episode has ended. */
  readonly #end = Deferred.makeUnsafe<never, Problem>();
  /** Lines whose caches are open. */
  readonly #open = new Set<number>();
  /** Wishes of calls that training does not grant, in words: `temperature 0.2`. */
  readonly ignoredWishes = new Set<string>();
  /** Answers by their ids, which no other episode has. */
  readonly #answers = new Map<string, CallNode>();
  #limit: TruncationReason | null = null;
  #hasEnded = false;

  constructor(settings: SessionSettings) {
    this.#settings = settings;
  }

  /** The limit that cut the episode; null where none did. */
  get limit(): TruncationReason | null {
    return this.#limit;
  }

  /** The call whose answer has this id; null where this episode has none. */
  callOf(id: string): CallNode | null {
    return this.#answers.get(id) ?? null;
  }

  /** The answer with this id; null where this episode has none. */
  recall(id: string): EarlierAnswer | null {
    return this.callOf(id);
  }

  /**
   * Answers a call. An answer beyond the budget is empty, ends with `length`, and is no call of the tree. A call that its client marks as a retry
   * gets the answer of the first attempt.
   */
  answer(call: ModelCall, attempt: Attempt | null = null): Effect.Effect<ModelAnswer, Problem> {
    const fresh = Effect.suspend(() => this.#answer(call));
    return attempt === null ? fresh : this.#sent.answer(attempt, fresh);
  }

  /** Number of ids that a call would show, by rendering its whole conversation. */
  countTokens(call: ModelCall): Effect.Effect<number, Problem> {
    return Effect.gen({ self: this }, function* () {
      if (this.#hasEnded) return yield* ended;
      const conversation = yield* this.#wholeConversation(call);
      const { budget, model } = this.#settings;
      const characters = charactersOf(conversation);
      // A text that cannot fit is not rendered: an estimate says as well that it is too long.
      if (characters > budget.contextTokens * mostCharacters) return characters;
      return (yield* Effect.mapError(model.opening(conversation), badRequest)).length;
    });
  }

  /** Ends the episode: calls fail from now on, running ones are cancelled, and its caches are freed. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    this.#hasEnded = true;
    Deferred.doneUnsafe(this.#end, Effect.fail(ended));
    return Effect.forEach(this.#open, (sequence) => this.#settings.policy.release(sequence), { discard: true });
  });

  #answer(call: ModelCall): Effect.Effect<ModelAnswer, Problem> {
    return Effect.gen({ self: this }, function* () {
      if (this.#hasEnded) return yield* ended;
      const conversation = yield* this.#wholeConversation(call);
      const { budget, model, sampling } = this.#settings;
      for (const wish of ignoredBy(sampling, call.wishes)) this.ignoredWishes.add(wish);
      if (this.tree.size + this.tree.openCalls >= budget.calls) return this.#cut("max_turn");
      // Rendering is slow, and would hold up the main thread for seconds on a long text that cannot fit anyway.
      if (charactersOf(conversation) > budget.contextTokens * mostCharacters) return this.#cut("context");
      const placement = this.tree.place(conversation, (added) => model.rewriting(added) !== undefined);
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
      const { budget, model, name } = this.#settings;
      const prompt = yield* this.#promptOf(placement, conversation);
      const shown = (placement.parent?.pathLength ?? 0) + prompt.length;
      if (shown + budget.replyTokens > budget.contextTokens) {
        this.tree.withdraw(placement);
        return this.#cut("context");
      }
      const maxTokens = Math.min(wishes.maxTokens ?? budget.replyTokens, budget.replyTokens);
      const sampled = yield* Effect.raceFirst(
        this.#sample(placement, prompt, { maxTokens, stop: wishes.stop }),
        Deferred.await(this.#end),
      );
      const read = model.read(sampled, toolChoice === "none" ? [] : conversation.tools, wishes.stop);
      const id = `${name}c${this.tree.size}`;
      const calls = read.calls.map(
        ({ arguments: values, name }, at): ToolCall => ({ id: `call_${id}_${at}`, name, arguments: values }),
      );
      const { problems, reasoning, stop, text } = read;
      const reply: AssistantMessage = { role: "assistant", text, calls };
      this.#answers.set(id, this.tree.add(placement, { prompt, sampled, reply, problems }));
      const finish = sampled.finish === "length" ? "length" : calls.length > 0 ? "tool_calls" : "stop";
      return answerOf(id, { text, reasoning, calls, finish, stop }, shown, sampled);
    });
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
    return answerOf(`${this.#settings.name}cut`, empty, 0, null);
  }

  /** Ids behind the parent's reply, or of the whole conversation. */
  #promptOf({ added, parent }: Placement, conversation: Conversation): Effect.Effect<Int32Array, Problem> {
    const { model } = this.#settings;
    const ids =
      parent === null
        ? model.opening(conversation)
        : Effect.map(model.bridge(added, conversation.tools), (bridge) => model.afterReply(parent.sampled, bridge));
    return Effect.mapError(ids, (reason) => new Problem({ status: 400, message: reason }));
  }

  #sample(
    placement: Placement,
    prompt: Int32Array,
    limits: { readonly maxTokens: number; readonly stop: readonly string[] },
  ): Effect.Effect<Sampled, Problem> {
    return Effect.suspend(() => {
      if (this.#hasEnded) return ended;
      const { keyOf, onPolicyFailure, pin, policy, sampling, sequenceOf } = this.#settings;
      const { line, parent } = placement;
      const sequence = sequenceOf(line);
      const past = parent === null || this.#open.has(sequence) ? [] : [pathIds(parent)];
      this.#open.add(sequence);
      const append = concatIds([...past, prompt]);
      const request = { ...limits, sequence, append, sharedPrefix: 0, sampling, key: keyOf(placement), pin };
      // A client that hung up leaves ids behind that no reply follows: the next call of this line feeds its path anew.
      const forget = Effect.andThen(
        Effect.sync(() => this.#open.delete(sequence)),
        policy.release(sequence),
      );
      return policy.generate(request).pipe(
        Effect.onInterrupt(() => forget),
        Effect.catch((error) => Effect.andThen(onPolicyFailure(error), Effect.fail(lost))),
      );
    });
  }
}

/** The wishes that this sampling does not grant, in words. */
const ignoredBy = (sampling: Sampling, { temperature, topK, topP }: ModelCall["wishes"]): readonly string[] => [
  ...(temperature === undefined || temperature === sampling.temperature ? [] : [`temperature ${temperature}`]),
  ...(topP === undefined || topP === sampling.topP ? [] : [`top_p ${topP}`]),
  ...(topK === undefined || topK === sampling.topK ? [] : [`top_k ${topK}`]),
];

const answerOf = (
  id: string,
  reply: Pick<ModelAnswer, "text" | "reasoning" | "calls" | "finish" | "stop">,
  shown: number,
  sampled: Sampled | null,
): ModelAnswer => ({
  ...reply,
  id,
  created: Math.floor(Date.now() / 1000),
  usage: { prompt: shown, reply: sampled?.ids.length ?? 0 },
});

/** The text of messages, for people and logs. */
export const transcript = (messages: readonly Message[]): string =>
  messages.map(({ role, text }) => (role === "user" ? text : `${role}: ${text}`)).join("\n");
