/**
 * The policy on a Tinker server: each request carries the whole history, and each reply is sampled by one version. Replies end as those of
 * generator threads do. Invariants: `mu` is the log-probability that the server sampled with; a token's entropy is estimated by -mu, as no
 * server reports it; only versions that the server still has are asked for. The first request of a snapshot is for one token by itself:
 * SkyRL 0.3.0 unpacks a snapshot for each early request, and fails those that overlap.
 */
import { MessageChannel } from "node:worker_threads";
import { Effect, Queue, Result, type Scope } from "effect";
import type { Sampled, Version } from "../../domain/Episode.ts";
import { PolicyError } from "../../domain/Errors.ts";
import { stream } from "../../domain/Random.ts";
import type { Generator } from "../../generation/Generator.ts";
import type { GenerateRequest, GeneratorGauges } from "../../generation/Policy.ts";
import { History } from "../../generation/Reply.ts";
import type { StopMatchers } from "../../model/tokenizer/StopMatcher.ts";
import type { WeightsMessage } from "../../model/weights/Weights.ts";
import { findReplyEnd } from "../generation/ReplyEnd.ts";
import type { Client } from "./Client.ts";
import { SampledVersions } from "./SampledVersions.ts";
import type { SamplingSessions as Kind } from "./serverTraits.ts";
import type { TinkerError } from "./TinkerError.ts";
import { readSample } from "./TinkerModel.ts";
import type { SamplingCounts as SampledCounts } from "./tinkerMetrics.ts";
import * as Json from "./wire/json.ts";
import { type CheckedSequence, checkSample } from "./wire/Sample.ts";

export interface TinkerGeneratorOptions {
  readonly client: Client;
  readonly sessions: Kind;
  readonly stopIds: ReadonlySet<number>;
  readonly stops: StopMatchers;
  /** Rows of the model's embedding, and positions of its longest sequence. */
  readonly vocabSize: number;
  readonly maxPositions: number;
  /** Sequences that it generates at once. */
  readonly slots: number;
}

interface Sequence {
  readonly history: History;
  readonly pin: Version | null;
  length: number;
  busy: boolean;
}

const bad = (message: string): PolicyError => new PolicyError({ reason: "bad_request", message });

const policyError = ({ message, ...cause }: TinkerError): PolicyError =>
  new PolicyError({ reason: "session_failed", message, cause });

/** Servers take seeds of 31 bits. */
const seedOf = (key: GenerateRequest["key"]): number => stream(key).int(2 ** 31 - 1);

/** The options of a sample beside its prompt. */
interface SampleOptions {
  readonly maxTokens: number;
  readonly seed: number;
  readonly sampling: GenerateRequest["sampling"];
}

const plainSampling: GenerateRequest["sampling"] = { temperature: 1, topK: -1, topP: 1 };

class TinkerSampler {
  readonly #options: TinkerGeneratorOptions;
  readonly #sequences = new Map<number, Sequence>();
  readonly versions: SampledVersions;
  #requests = 0;
  #sampledTokens = 0;
  /** All tokens that the server sampled, those beyond the ends of replies included. */
  #billedTokens = 0;
  #prefilledTokens = 0;
  #adoptions = 0;

  constructor(options: TinkerGeneratorOptions) {
    this.#options = options;
    this.versions = new SampledVersions(options.sessions);
  }

  adopt(version: Version, name: string): void {
    this.versions.add(version, name);
    this.#adoptions++;
  }

  #refusal({ append, maxTokens, pin, sequence: id }: GenerateRequest): PolicyError | null {
    const existing = this.#sequences.get(id);
    const { maxPositions, vocabSize } = this.#options;
    if (existing?.busy === true) return bad(`sequence ${id} is being generated already`);
    if (maxTokens < 1) return bad(`maxTokens must be 1 or more, not ${maxTokens}`);
    if (existing === undefined && append.length === 0) return bad(`sequence ${id} opens without a token`);
    const length = (existing?.length ?? 0) + append.length;
    if (length > maxPositions)
      return bad(`a history of ${length} tokens exceeds the model's ${maxPositions} positions`);
    const foreign = append.find((token) => token < 0 || token >= vocabSize);
    if (foreign !== undefined) return bad(`id ${foreign} is outside the vocabulary of ${vocabSize}`);
    if (existing !== undefined && existing.pin !== pin) return bad(`sequence ${id} cannot change its pinned version`);
    return null;
  }

  #open({ pin, sequence: id }: GenerateRequest): Sequence {
    const existing = this.#sequences.get(id);
    if (existing !== undefined) return existing;
    const opened: Sequence = { history: new History(), pin, length: 0, busy: false };
    this.#sequences.set(id, opened);
    return opened;
  }

  #sample(name: string, prompt: Int32Array, request: SampleOptions): Effect.Effect<CheckedSequence, PolicyError> {
    const { client, stopIds, vocabSize } = this.#options;
    const { maxTokens, sampling, seed } = request;
    this.#requests++;
    const samples = client.perform({
      path: "asample",
      body: {
        _tag: "json",
        value: {
          sampling_session_id: name,
          seq_id: this.#requests,
          num_samples: 1,
          prompt: Json.prompt(prompt),
          sampling_params: {
            max_tokens: maxTokens,
            seed,
            stop: [...stopIds],
            temperature: sampling.temperature,
            top_k: sampling.topK,
            top_p: sampling.topP,
          },
          type: "sample",
        },
      },
      resending: "freely",
      protobuf: true,
      read: (content) => {
        const output = readSample(content);
        if (Result.isFailure(output)) return Result.fail(output.failure);
        return checkSample(output.success, { maxTokens, vocabSize });
      },
    });
    return Effect.mapError(
      Effect.tap(samples, ({ tokens }) =>
        Effect.sync(() => {
          this.#billedTokens += tokens.length;
          this.#prefilledTokens += prompt.length;
        }),
      ),
      policyError,
    );
  }

  /** Samples one token, so that the server unpacks a snapshot. */
  warm(name: string): Effect.Effect<void, PolicyError> {
    return Effect.asVoid(this.#sample(name, Int32Array.of(0), { maxTokens: 1, seed: 0, sampling: plainSampling }));
  }

  /** Cuts the reply from the sample, which may go on beyond the reply's end. */
  #reply(
    { finish, logprobs, tokens }: CheckedSequence,
    version: Version,
    { maxTokens, stop = [] }: GenerateRequest,
  ): Sampled {
    const { stopIds, stops } = this.#options;
    const matcher = stops(stop);
    const end = findReplyEnd(tokens, { ids: stopIds, matcher }, matcher?.start ?? 0, maxTokens);
    const ids = tokens.slice(0, end.length);
    const mu = logprobs.slice(0, end.length);
    return {
      ids,
      mu,
      versions: new Int32Array(end.length).fill(version),
      entropies: mu.map((value) => -value),
      finish: end.finish ?? finish,
    };
  }

  readonly generate = Effect.fnUntraced({ self: this }, function* (this: TinkerSampler, request: GenerateRequest) {
    const refusal = this.#refusal(request);
    if (refusal !== null) return yield* refusal;
    const sequence = this.#open(request);
    const base = sequence.length;
    sequence.history.write(request.append, base);
    const length = base + request.append.length;
    sequence.busy = true;
    const sampling = Effect.gen({ self: this }, function* () {
      const version = request.pin ?? (yield* this.versions.reaches(0));
      const name = yield* this.versions.nameOf(version);
      const prompt = sequence.history.ids.slice(0, length);
      const sample = yield* this.#sample(name, prompt, { ...request, seed: seedOf(request.key) });
      const sampled = this.#reply(sample, version, request);
      sequence.history.write(sampled.ids, length);
      sequence.length = length + sampled.ids.length;
      this.#sampledTokens += sampled.ids.length;
      return sampled;
    });
    return yield* Effect.ensuring(
      sampling,
      Effect.sync(() => {
        sequence.busy = false;
        // A request without an answer leaves its sequence unchanged.
        if (sequence.length === 0) this.#sequences.delete(request.sequence);
      }),
    );
  });

  release(id: number): void {
    this.#sequences.delete(id);
  }

  counts(): SampledCounts {
    return { prompt: this.#prefilledTokens, sampled: this.#billedTokens, requests: this.#requests };
  }

  gauges(): GeneratorGauges {
    const active = [...this.#sequences.values()].filter(({ busy }) => busy).length;
    return {
      version: this.versions.newest ?? 0,
      slots: this.#options.slots,
      active,
      idle: this.#sequences.size - active,
      sampledTokens: this.#sampledTokens,
      prefilledTokens: this.#prefilledTokens,
      adoptions: this.#adoptions,
      adoptionMs: { last: 0, max: 0 },
    };
  }
}

export interface TinkerGenerator extends Generator {
  readonly counts: () => SampledCounts;
}

/** Versions arrive on its one port, and are acknowledged once they can be sampled from. */
export const make = Effect.fnUntraced(function* (
  options: TinkerGeneratorOptions,
): Effect.fn.Return<TinkerGenerator, never, Scope.Scope> {
  const sampler = new TinkerSampler(options);
  const { versions } = sampler;
  const { port1, port2 } = new MessageChannel();
  const arrived = yield* Queue.unbounded<WeightsMessage>();
  port1.on("message", (message: WeightsMessage) => Queue.offerUnsafe(arrived, message));
  const adopting = Effect.gen(function* () {
    const { payload, version } = yield* Queue.take(arrived);
    if (payload._tag === "remote") {
      if (options.sessions === "snapshots") yield* sampler.warm(payload.id);
      sampler.adopt(version, payload.id);
    }
    port1.postMessage({ _tag: "adopted", version });
  });
  const broken = (error: PolicyError) => Effect.sync(() => versions.breakWith(error));
  yield* Effect.forkScoped(Effect.catch(Effect.forever(adopting), broken));
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      port1.close();
      port2.close();
    }),
  );
  return {
    ports: [port2],
    generate: (request) => sampler.generate(request),
    release: (sequence) => Effect.sync(() => sampler.release(sequence)),
    version: versions.reaches(0),
    awaitVersion: (version) => Effect.asVoid(versions.reaches(version)),
    hold: Effect.acquireRelease(
      Effect.tap(versions.reaches(0), (version) => Effect.sync(() => versions.hold(version))),
      (version) => Effect.sync(() => versions.release(version)),
    ),
    gauges: Effect.sync(() => sampler.gauges()),
    died: Effect.andThen(versions.reaches(Number.POSITIVE_INFINITY), Effect.never),
    counts: () => sampler.counts(),
  };
});
