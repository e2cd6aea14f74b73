/**
 * A policy of the user's own in place of the generator: ids in, sampled ids out, by promises. Invariant: weights change only between
 * validations, so that one validation measures one version.
 */
import { MessageChannel } from "node:worker_threads";
import { Effect, type Scope, Semaphore } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { concatIds } from "../domain/Batch.ts";
import type { Sampled, Version } from "../domain/Episode.ts";
import { PolicyError } from "../domain/Errors.ts";
import { stream } from "../domain/Random.ts";
import {
  type CustomModelContext,
  contextOf,
  type ModelWeights,
  messageOf,
  weightsOf,
} from "../model/CustomModelContext.ts";
import { parametersOf } from "../model/graphs/Parameters.ts";
import { trainedParameters } from "../model/graphs/TrainedParameters.ts";
import type { Model } from "../model/Model.ts";
import type { AdoptedMessage, WeightsMessage } from "../model/weights/Weights.ts";
import { CommonVersion } from "./CommonVersion.ts";
import type { Generator } from "./Generator.ts";
import type { GenerateRequest, Sampling } from "./Policy.ts";

/** A reply that a policy is asked for. */
export interface ReplyRequest {
  /** All ids of the chat so far; the prompt of this reply comes last. */
  readonly prompt: Int32Array;
  /** Most ids that the reply may have. */
  readonly maxTokens: number;
  readonly sampling: Sampling;
  /** Returns uniform draws in [0, 1). The sequence is the same if this reply is sampled again. */
  readonly random: () => number;
  /** Aborted when nobody waits for the reply any more. */
  readonly signal: AbortSignal;
}

/** A sampled reply. Its arrays have one entry for each id. */
export interface CustomReply {
  readonly ids: ArrayLike<number>;
  /** Log-probability of each id under the distribution that it was drawn from, nats. */
  readonly logProbs: ArrayLike<number>;
  /** Entropy of that distribution at each id, nats; default 0. */
  readonly entropies?: ArrayLike<number>;
  /** True if the reply was cut off at `maxTokens`; default false. */
  readonly isCut?: boolean;
}

/** A policy of the user's own in place of the generator, in the process that calls `train`. */
export interface CustomPolicy {
  /** Called before any reply is asked for, and again, after `close`, when the run is restarted. */
  readonly start?: (context: CustomModelContext) => Promise<void> | void;
  /** Samples a reply. A rejection ends the run. */
  readonly generate: (request: ReplyRequest) => Promise<CustomReply> | CustomReply;
  /** Takes a new version. The built-in learner gives its weights; a learner of the user's own may give none. */
  readonly adopt?: (version: Version, weights: ModelWeights | null) => Promise<void> | void;
  readonly close?: () => Promise<void> | void;
}

const failed = (member: string) => (cause: unknown) =>
  new PolicyError({ reason: "session_failed", message: `the policy's ${member}: ${messageOf(cause)}`, cause });

/** Returns the reply as the rollout records it. Throws an `Error` if its arrays do not fit each other or the request. */
const sampledFrom = (reply: CustomReply, maxTokens: number, version: Version): Sampled => {
  const { length } = reply.ids;
  const entropies = reply.entropies ?? new Float32Array(length);
  if (length === 0 || length > maxTokens) throw new Error(`returned ${length} ids; it is to be 1 to ${maxTokens}`);
  for (const [name, values] of Object.entries({ logProbs: reply.logProbs, entropies })) {
    if (values.length !== length) throw new Error(`returned ${values.length} ${name} for ${length} ids`);
    if (!Array.from(values).every(Number.isFinite)) throw new Error(`returned ${name} that are not finite`);
  }
  return {
    ids: Int32Array.from(reply.ids),
    mu: Float32Array.from(reply.logProbs),
    versions: new Int32Array(length).fill(version),
    entropies: Float32Array.from(entropies),
    finish: reply.isCut === true ? "length" : "stop",
  };
};

const weightsFrom = ({ checkpoint }: Model, { payload }: WeightsMessage): ModelWeights | null => {
  if (payload._tag === "remote") return null;
  return weightsOf(parametersOf(trainedParameters(checkpoint.config), new Float32Array(payload.buffer)));
};

class CustomGenerator {
  readonly #policy: CustomPolicy;
  readonly #model: Model;
  readonly #versions: CommonVersion;
  /** Ids of each open sequence. */
  readonly #histories = new Map<number, Int32Array>();
  readonly #counts = { active: 0, tokens: 0, adoptions: 0, lastMs: 0, maxMs: 0 };
  /** Validations that go on. A version that arrives meanwhile waits in `#waiting`. */
  #holds = 0;
  #waiting: (() => void) | null = null;
  /** The adoption under way, or the last one. A validation that begins waits for it. */
  #adoption: Promise<void> = Promise.resolve();

  constructor(policy: CustomPolicy, model: Model, version: Version) {
    this.#policy = policy;
    this.#model = model;
    this.#versions = new CommonVersion(1, version);
  }

  get versions(): CommonVersion {
    return this.#versions;
  }

  generate({ append, key, maxTokens, sampling, sequence }: GenerateRequest): Effect.Effect<Sampled, PolicyError> {
    return Effect.tryPromise({
      try: async (signal) => {
        const prompt = concatIds([this.#histories.get(sequence) ?? new Int32Array(0), append]);
        const { newest } = this.#versions;
        const draws = stream(key);
        this.#counts.active++;
        try {
          const random = () => draws.uniform();
          const reply = await this.#policy.generate({ prompt, maxTokens, sampling, random, signal });
          const sampled = sampledFrom(reply, maxTokens, newest);
          this.#counts.tokens += sampled.ids.length;
          this.#histories.set(sequence, concatIds([prompt, sampled.ids]));
          return sampled;
        } finally {
          this.#counts.active--;
        }
      },
      catch: failed("generate"),
    });
  }

  release(sequence: number): Effect.Effect<void> {
    return Effect.sync(() => void this.#histories.delete(sequence));
  }

  /** Adopts a version once no validation goes on, and then calls `onAdopted`. */
  receive(message: WeightsMessage, onAdopted: () => void): void {
    const adopt = () => {
      this.#adoption = this.#adopt(message).then(onAdopted, (cause) => this.#versions.fail(failed("adopt")(cause)));
    };
    if (this.#holds > 0) this.#waiting = adopt;
    else adopt();
  }

  readonly hold: Effect.Effect<Version, PolicyError, Scope.Scope> = Effect.acquireRelease(
    Effect.promise(async () => {
      this.#holds++;
      await this.#adoption;
      return this.#versions.newest;
    }),
    () =>
      Effect.sync(() => {
        if (--this.#holds > 0) return;
        this.#waiting?.();
        this.#waiting = null;
      }),
  );

  gauges(slots: number) {
    return Effect.sync(() => ({
      version: this.#versions.newest,
      slots,
      active: this.#counts.active,
      idle: Math.max(0, this.#histories.size - this.#counts.active),
      sampledTokens: this.#counts.tokens,
      adoptions: this.#counts.adoptions,
      adoptionMs: { last: this.#counts.lastMs, max: this.#counts.maxMs },
    }));
  }

  async #adopt(message: WeightsMessage): Promise<void> {
    const start = performance.now();
    await this.#policy.adopt?.(message.version, weightsFrom(this.#model, message));
    this.#countAdoption(performance.now() - start);
    this.#versions.recordAdoption(0, message.version);
  }

  #countAdoption(milliseconds: number): void {
    this.#counts.adoptions++;
    this.#counts.lastMs = milliseconds;
    this.#counts.maxMs = Math.max(this.#counts.maxMs, milliseconds);
  }
}

/** Starts the user's policy as the run's generator. It has `generation.slots` replies in flight at most. */
export const make = Effect.fnUntraced(function* (
  policy: CustomPolicy,
  config: RunConfig,
  model: Model,
  version: Version,
): Effect.fn.Return<Generator, PolicyError, Scope.Scope> {
  const { close, start } = policy;
  yield* Effect.tryPromise({ try: async () => start?.(contextOf(config, model)), catch: failed("start") });
  yield* Effect.addFinalizer(() => Effect.promise(async () => close?.()));
  const generator = new CustomGenerator(policy, model, version);
  const { port1: inbox, port2: outbox } = new MessageChannel();
  inbox.on("message", (message: WeightsMessage) => {
    const adopted: AdoptedMessage = { _tag: "adopted", version: message.version };
    generator.receive(message, () => inbox.postMessage(adopted));
  });
  yield* Effect.addFinalizer(() => Effect.sync(() => inbox.close()));
  const { slots } = config.generation;
  const permits = yield* Semaphore.make(slots);
  const { versions } = generator;
  return {
    ports: [outbox],
    generate: (request) => permits.withPermits(1)(generator.generate(request)),
    release: (sequence) => generator.release(sequence),
    version: versions.newestOrFailure,
    awaitVersion: (awaited) => versions.awaitVersion(awaited),
    hold: generator.hold,
    gauges: generator.gauges(slots),
    died: Effect.andThen(versions.awaitVersion(Number.POSITIVE_INFINITY), Effect.never),
  };
});
