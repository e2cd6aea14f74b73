/**
 * One episode of an agent, as the endpoint serves it: its calls are answered by the policy, one after the other, and kept as a tree.
 * Invariants: a reply is sampled behind exactly the ids of its path; an episode that has ended samples nothing any more.
 */
import { randomBytes } from "node:crypto";
import { Effect, Semaphore } from "effect";
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
import type { ModelAnswer, ModelCall } from "../dialects/Dialect.ts";
import { type CallNode, CallTree, type Placement, pathIds, transcriptOf } from "../tree/CallTree.ts";
import type { AgentModel } from "./AgentModel.ts";

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
  readonly policy: typeof Policy.Service;
  readonly model: AgentModel;
  readonly budget: Budget;
  readonly sampling: Sampling;
  readonly pin: Version | null;
  /** Stream of the draws of a call. */
  readonly keyOf: (placement: Pick<Placement, "branch" | "turn">) => StreamKey;
  /** Key of the caches of a line of calls. */
  readonly sequenceOf: (branch: number) => number;
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
  readonly #turn = Semaphore.makeUnsafe(1);
  readonly #open = new Set<number>();
  /** Wishes of calls that training does not grant, in words: `temperature 0.2`. */
  readonly ignoredWishes = new Set<string>();
  /** Answers by their ids, which no other episode has. */
  readonly #answers = new Map<string, CallNode>();
  readonly #name = randomBytes(8).toString("hex");
  #limit: TruncationReason | null = null;
  #hasEnded = false;

  constructor(settings: SessionSettings) {
    this.#settings = settings;
  }

  /** The limit that cut the episode; null where none did. */
  get limit(): TruncationReason | null {
    return this.#limit;
  }

  /** The reply of the answer with this id; null where this episode has none. */
  recall(id: string): AssistantMessage | null {
    return this.#answers.get(id)?.reply ?? null;
  }

  /** Answers a call. An answer beyond the budget is empty, ends with `length`, and is no call of the tree. */
  answer(call: ModelCall): Effect.Effect<ModelAnswer, Problem> {
    return this.#turn.withPermits(1)(Effect.suspend(() => this.#answer(call)));
  }

  /** Ends the episode: calls fail from now on, and its caches are freed once the running call has ended. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    this.#hasEnded = true;
    return this.#turn.withPermits(1)(
      Effect.forEach(this.#open, (sequence) => this.#settings.policy.release(sequence), { discard: true }),
    );
  });

  #answer(call: ModelCall): Effect.Effect<ModelAnswer, Problem> {
    const { toolChoice, wishes } = call;
    return Effect.gen({ self: this }, function* () {
      if (this.#hasEnded) return yield* ended;
      const conversation = yield* this.#wholeConversation(call);
      const { budget, model, sampling } = this.#settings;
      for (const wish of ignoredBy(sampling, wishes)) this.ignoredWishes.add(wish);
      if (this.tree.size >= budget.calls) return this.#cut("max_turn");
      // Rendering is slow, and would hold up the main thread for seconds on a long text that cannot fit anyway.
      if (charactersOf(conversation) > budget.contextTokens * mostCharacters) return this.#cut("context");
      const placement = this.tree.place(conversation, (added) => model.rewriting(added) !== undefined);
      const prompt = yield* this.#promptOf(placement, conversation);
      const shown = (placement.parent?.pathLength ?? 0) + prompt.length;
      if (shown + budget.replyTokens > budget.contextTokens) return this.#cut("context");
      const maxTokens = Math.min(wishes.maxTokens ?? budget.replyTokens, budget.replyTokens);
      const sampled = yield* this.#sample(placement, prompt, maxTokens);
      if (this.#hasEnded) return yield* ended;
      const read = model.read(sampled, toolChoice === "none" ? [] : conversation.tools);
      const id = `${this.#name}${this.tree.size}`;
      const calls = read.calls.map(
        ({ arguments: values, name }, at): ToolCall => ({ id: `call_${id}_${at}`, name, arguments: values }),
      );
      const node = this.tree.add(placement, {
        tools: conversation.tools,
        prompt,
        sampled,
        reply: { role: "assistant", text: read.text, calls },
      });
      this.#answers.set(id, node);
      const finish = sampled.finish === "length" ? "length" : calls.length > 0 ? "tool_calls" : "stop";
      return answerOf(id, { text: read.text, reasoning: read.reasoning, calls, finish }, shown, sampled);
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
    return answerOf(`${this.#name}cut`, { text: "", reasoning: null, calls: [], finish: "length" }, 0, null);
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

  #sample({ branch, parent, turn }: Placement, prompt: Int32Array, maxTokens: number): Effect.Effect<Sampled, Problem> {
    const { keyOf, onPolicyFailure, pin, policy, sampling, sequenceOf } = this.#settings;
    const sequence = sequenceOf(branch);
    const past = parent === null || this.#open.has(sequence) ? [] : [pathIds(parent)];
    this.#open.add(sequence);
    const request = {
      sequence,
      append: concatIds([...past, prompt]),
      sharedPrefix: 0,
      maxTokens,
      sampling,
      key: keyOf({ branch, turn }),
      pin,
    };
    // A client that hung up leaves ids behind that no reply follows: the next call of this line feeds its path anew.
    const forget = Effect.andThen(
      Effect.sync(() => this.#open.delete(sequence)),
      policy.release(sequence),
    );
    return policy.generate(request).pipe(
      Effect.onInterrupt(() => forget),
      Effect.catch((error) => Effect.andThen(onPolicyFailure(error), Effect.fail(lost))),
    );
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
  reply: Pick<ModelAnswer, "text" | "reasoning" | "calls" | "finish">,
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
