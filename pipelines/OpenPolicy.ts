/**
 * A trained policy that is open for sampling, as a caller of the package holds it. Replies asked for at the same time share decode steps.
 * Invariant: a reply depends on the weights, its messages and its seed, and not on the other replies.
 */
import { Effect, Exit, Scope } from "effect";
import { listProblems } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { type Generator, localGenerator } from "../src/generation/Generator.ts";
import type * as Model from "../src/model/Model.ts";
import * as StartingModel from "../src/model/StartingModel.ts";
import { concatIds } from "../src/rollout/context.ts";
import { compose } from "./compose.ts";
import { namedModel } from "./namedRun.ts";
import type { RunFile } from "./RunFile.ts";
import { promiseOf } from "./thrownBy.ts";

/** A message of a chat. */
export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** Options of a reply. */
export interface GenerateOptions {
  /** Most tokens of the reply; default 256. */
  readonly maxTokens?: number;
  /** 0 is greedy; default 1. */
  readonly temperature?: number;
  /** Probability mass to sample from; default 1. */
  readonly topP?: number;
  /** Number of likeliest ids to sample from; default -1, which is all. */
  readonly topK?: number;
  /** Equal seeds give equal replies; default 0. */
  readonly seed?: number;
  /** Words that the reply begins with. The policy writes on from them. */
  readonly prefix?: string;
  readonly signal?: AbortSignal;
}

/** A sampled reply. */
export interface GeneratedReply {
  /** The reply with its prefix, without the token that ends it. */
  readonly text: string;
  /** Sampled ids, with the one that ends the reply. */
  readonly ids: Int32Array;
  /** Log-probability of each id under the distribution that it was drawn from, nats. */
  readonly logProbs: Float32Array;
  /** `length` if the reply was cut at `maxTokens`. */
  readonly finish: "stop" | "length";
}

/** A trained policy that is open for sampling. */
export interface OpenPolicy extends AsyncDisposable {
  /** Samples a reply to messages: a system message or none, then user and assistant in turn, a user last. Rejects with BadInput otherwise. */
  readonly generate: (messages: string | readonly Message[], options?: GenerateOptions) => Promise<GeneratedReply>;
  /** Ends the policy's threads. Replies that are under way reject. */
  readonly close: () => Promise<void>;
}

/** Returns what is wrong with the order of the messages, or null. */
const orderProblem = (messages: readonly Message[]): string | null => {
  const turns = messages[0]?.role === "system" ? messages.slice(1) : messages;
  const wrong = turns.findIndex(({ role }, index) => role !== (index % 2 === 0 ? "user" : "assistant"));
  if (wrong !== -1)
    return `message ${messages.length - turns.length + wrong + 1} is of ${turns[wrong]?.role}, expected ${wrong % 2 === 0 ? "user" : "assistant"}`;
  return turns.length % 2 === 0 ? "the last message is to be the user's" : null;
};

/** Ids of the chat up to the reply. Throws BadInput for messages in another order. */
const promptOf = ({ chat }: Model.Model, messages: readonly Message[], prefix: string): Int32Array => {
  const problem = orderProblem(messages);
  if (problem !== null) throw new BadInput({ message: problem });
  const system = messages[0]?.role === "system" ? messages[0].content : "";
  const turns = messages.slice(messages[0]?.role === "system" ? 1 : 0);
  const parts: Int32Array[] = [];
  for (let turn = 0; turn < turns.length; turn += 2) {
    const user = turns[turn]?.content ?? "";
    const reply = turns[turn + 1];
    const written = reply && chat.encodeReply(reply.content);
    const replyPrefix = written?.replyPrefix ?? prefix;
    parts.push(turn === 0 ? chat.opening(system, user, replyPrefix) : chat.bridge(user, replyPrefix));
    if (written !== undefined) parts.push(written.ids, Int32Array.of(chat.endId));
  }
  return concatIds(parts);
};

const policyOf = (model: Model.Model, generator: Generator, scope: Scope.Closeable): OpenPolicy => {
  let nextSequence = 0;
  const generate: OpenPolicy["generate"] = async (messages, options = {}) => {
    const { maxTokens = 256, prefix = "", seed = 0, signal, temperature = 1, topK = -1, topP = 1 } = options;
    const given = typeof messages === "string" ? [{ role: "user", content: messages } as const] : messages;
    const append = promptOf(model, given, prefix);
    const { maxPositions } = model.checkpoint.config;
    if (append.length + maxTokens > maxPositions) {
      const message = `maxTokens: ${maxTokens}: the messages are ${append.length} tokens, and the model has ${maxPositions} positions; nearest: ${Math.max(0, maxPositions - append.length)}`;
      throw new BadInput({ message });
    }
    const request = {
      sequence: nextSequence++,
      append,
      sharedPrefix: 0,
      maxTokens,
      sampling: { temperature, topK, topP },
      key: { seed, purpose: "sampling" as const, counters: [] },
      pin: null,
    };
    const sampling = Effect.ensuring(generator.generate(request), generator.release(request.sequence));
    const { finish, ids, mu } = await promiseOf(sampling, signal);
    const isEnded = finish === "stop" && model.stopIds.includes(ids.at(-1) ?? -1);
    const text = prefix + model.tokenizer.decode(isEnded ? ids.subarray(0, -1) : ids);
    return { text, ids, logProbs: mu, finish };
  };
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void));
  return { generate, close, [Symbol.asyncDispose]: close };
};

/**
 * Opens a policy for sampling: a model's folder, or a run, whose newest checkpoint is taken (`runs/quickstart@600` names a step). `changes` are of
 * the keys `model` and `generation`. Rejects with BadInput or PolicyError.
 */
export const openPolicy = async (
  model: string,
  changes: Pick<RunFile, "model" | "generation"> | readonly string[] = {},
): Promise<OpenPolicy> => {
  const config = await compose("base", changes);
  const { engine } = config.model.generator;
  if (engine !== "local") {
    const message = `model.generator.engine: ${engine}: a policy is opened in this process; nearest: local`;
    throw new BadInput({ message: listProblems([message]) });
  }
  const scope = await Effect.runPromise(Scope.make());
  const opening = Effect.gen(function* () {
    const path = yield* namedModel("model", model);
    const loaded = yield* StartingModel.load(path, config.model, config.run.seed);
    return policyOf(loaded, yield* Scope.provide(localGenerator(config, loaded, 0), scope), scope);
  });
  return promiseOf(Effect.onError(opening, () => Scope.close(scope, Exit.void)));
};
