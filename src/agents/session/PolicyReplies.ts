/**
 * Replies of the policy to the calls of one episode. Invariants: a reply is sampled behind exactly the ids of its path; an episode that has ended
 * samples nothing any more.
 */
import { Effect } from "effect";
import { concatIds } from "../../domain/Batch.ts";
import { type Conversation, charactersOf, type Message } from "../../domain/Conversation.ts";
import type { Sampled, Version } from "../../domain/Episode.ts";
import type { PolicyError } from "../../domain/Errors.ts";
import type { StreamKey } from "../../domain/Random.ts";
import type { Policy, Sampling } from "../../generation/Policy.ts";
import { usesTools } from "../../model/tokenizer/conversation/ConversationTexts.ts";
import { badRequest, Problem } from "../../support/http/Problem.ts";
import type { ModelCall } from "../dialects/Dialect.ts";
import { type Placement, pathIds } from "../tree/CallTree.ts";
import type { AgentModel } from "./AgentModel.ts";
import type { CallReply, PlacedCall, Replies } from "./Replies.ts";
import { ended, Session } from "./Session.ts";

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
export interface PolicySettings {
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

const lost = new Problem({ status: 503, message: "the generator is gone" });

export class PolicyReplies implements Replies {
  readonly #settings: PolicySettings;
  /** Lines whose caches are open. */
  readonly #open = new Set<number>();
  #hasEnded = false;

  constructor(settings: PolicySettings) {
    this.#settings = settings;
  }

  ignoredBy({ toolChoice, wishes }: Pick<ModelCall, "toolChoice" | "wishes">): readonly string[] {
    const { sampling } = this.#settings;
    const { neverGranted = [], seed, temperature, topK, topP } = wishes;
    return [
      ...(temperature === undefined || temperature === sampling.temperature ? [] : [`temperature ${temperature}`]),
      ...(topP === undefined || topP === sampling.topP ? [] : [`top_p ${topP}`]),
      ...(topK === undefined || topK === sampling.topK ? [] : [`top_k ${topK}`]),
      // Its number is left out: clients send another one with each call.
      ...(seed === undefined ? [] : ["a seed"]),
      ...neverGranted,
      ...(toolChoice === "auto" || toolChoice === "none"
        ? []
        : [`tool_choice ${toolChoice === "required" ? toolChoice : toolChoice.name}`]),
    ];
  }

  /** A template without a place for tools leaves them out, so that the model would never see what the agent offers. */
  setupProblem({ messages, tools }: Conversation): string | null {
    const { toolsProblem } = this.#settings.model;
    return toolsProblem !== undefined && usesTools(messages, tools) ? toolsProblem : null;
  }

  /** Rendering is slow, and would hold up the main thread for seconds on a long text that cannot fit anyway. */
  isTooLong(conversation: Conversation): boolean {
    return charactersOf(conversation) > this.#settings.budget.contextTokens * mostCharacters;
  }

  /** Renders the whole conversation. */
  countTokens(conversation: Conversation): Effect.Effect<number, Problem> {
    // A text that cannot fit is not rendered: an estimate says as well that it is too long.
    if (this.isTooLong(conversation)) return Effect.succeed(charactersOf(conversation));
    return Effect.mapBoth(this.#settings.model.opening(conversation), {
      onFailure: badRequest,
      onSuccess: ({ length }) => length,
    });
  }

  isRewriting(added: readonly Message[]): boolean {
    return this.#settings.model.rewriting(added) !== undefined;
  }

  reply({ conversation, placement, toolChoice, wishes }: PlacedCall): Effect.Effect<CallReply | null, Problem> {
    return Effect.gen({ self: this }, function* () {
      const { budget, model } = this.#settings;
      const prompt = yield* this.#promptOf(placement, conversation);
      const shown = (placement.parent?.pathLength ?? 0) + prompt.length;
      if (shown + budget.replyTokens > budget.contextTokens) return null;
      const maxTokens = Math.min(wishes.maxTokens ?? budget.replyTokens, budget.replyTokens);
      const sampled = yield* this.#sample(placement, prompt, { maxTokens, stop: wishes.stop });
      const read = model.read(sampled, toolChoice === "none" ? [] : conversation.tools, wishes.stop);
      return { ...read, prompt, sampled, usage: { prompt: shown, reply: sampled.ids.length } };
    });
  }

  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    this.#hasEnded = true;
    return Effect.forEach(this.#open, (sequence) => this.#settings.policy.release(sequence), { discard: true });
  });

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

/** A session that the policy answers. `name` begins the ids of its answers; no other open episode has it. */
export const policySession = ({ name, ...settings }: PolicySettings & { readonly name: string }): Session =>
  new Session({ name, calls: settings.budget.calls, replies: new PolicyReplies(settings) });
