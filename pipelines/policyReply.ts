/** Replies of a policy to messages: the prompt by the model's own chat template, and what the reply is sampled with. */
import { Effect, Schema } from "effect";
import { decode } from "../src/config/decode.ts";
import { count, fraction, temperature, tokens, whole } from "../src/config/field.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import type { Version } from "../src/domain/Episode.ts";
import { BadInput } from "../src/domain/Errors.ts";
import type { StreamKey } from "../src/domain/Random.ts";
import type { Generator } from "../src/generation/Generator.ts";
import type { Model } from "../src/model/Model.ts";
import { promptIds } from "../src/tools/cloning/Conversation.ts";

/** A message of a chat. */
export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** Options of a reply. Temperature, topP and topK are those of the run file's `generation` section by default. */
export interface GenerateOptions {
  /** Most tokens of the reply, the one that ends it included; `rollout.response_length` of the run file by default. */
  readonly maxTokens?: number;
  /** Sampling temperature; 0 takes the likeliest token. */
  readonly temperature?: number;
  /** Probability mass to sample from; 1 is all. */
  readonly topP?: number;
  /** Number of likeliest tokens to sample from; -1 is all. */
  readonly topK?: number;
  /** Equal seeds give equal replies. By default each reply has draws of its own. */
  readonly seed?: number;
  /** Text that the reply begins with. By default the tag that the run file's template begins replies with; none for a model's folder. */
  readonly prefix?: string;
  /** Ends the sampling; the reply rejects with the signal's reason. */
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
  /** `stop` after an end token or a stop sequence; `length` if the reply was cut. */
  readonly finishReason: "stop" | "length";
  /** Updates that the weights have had in their training. */
  readonly version: Version;
}

/** A policy in memory with the threads that sample it. */
export interface LoadedPolicy {
  readonly config: RunConfig;
  readonly model: Model;
  readonly generator: Generator;
  readonly version: Version;
  /** Text that replies begin with by default. */
  readonly prefix: string;
}

const Options = Schema.Struct({
  maxTokens: Schema.optional(tokens),
  temperature: Schema.optional(temperature),
  topP: Schema.optional(fraction),
  topK: Schema.optional(whole(-1, 10_000_000)),
  seed: Schema.optional(count),
  prefix: Schema.optional(Schema.String),
});

/** Draws of reply number `call` if there is no seed. */
const keyOf = ({ run }: RunConfig, seed: number | undefined, call: number): StreamKey =>
  seed === undefined
    ? { seed: run.seed, purpose: "sampling", counters: [call] }
    : { seed, purpose: "sampling", counters: [] };

/** Samples a reply, which is number `call` of the policy. Fails with BadInput if the messages or the options cannot be used. */
export const replyTo = Effect.fnUntraced(function* (
  { config, generator, model, prefix: usualPrefix, version }: LoadedPolicy,
  call: number,
  messages: readonly Message[],
  given: Omit<GenerateOptions, "signal">,
) {
  const options = yield* Effect.fromResult(decode(Options, given));
  const { generation, rollout } = config;
  const { prefix = usualPrefix, seed, temperature = generation.temperature } = options;
  const append = yield* Effect.mapError(
    Effect.fromResult(promptIds(model.chat, messages, prefix)),
    (problem) => new BadInput({ message: `messages: ${problem}` }),
  );
  const room = model.checkpoint.config.maxPositions - append.length;
  const { maxTokens = Math.max(1, Math.min(rollout.response_length, room)), topK, topP } = options;
  if (maxTokens > room) {
    const message = `maxTokens: ${maxTokens}: the messages are ${append.length} tokens, and the model has ${room + append.length} positions; nearest: ${Math.max(0, room)}`;
    return yield* new BadInput({ message });
  }
  const sampling = { temperature, topK: topK ?? generation.top_k, topP: topP ?? generation.top_p };
  const key = keyOf(config, seed, call);
  const request = { sequence: call, append, sharedPrefix: 0, maxTokens, sampling, key, pin: null };
  const { finish, ids, mu } = yield* Effect.ensuring(generator.generate(request), generator.release(call));
  const isEnded = finish === "stop" && model.stopIds.includes(ids.at(-1) ?? -1);
  const text = prefix + model.tokenizer.decode(isEnded ? ids.subarray(0, -1) : ids);
  const reply: GeneratedReply = { text, ids, logProbs: mu, finishReason: finish, version };
  return reply;
});
