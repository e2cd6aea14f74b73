/**
 * The policy on a Tinker server: whole histories go out, one reply comes back, sampled by one version of the weights. Replies end by the same rule as those
 * of generator threads. Invariants: `mu` is the log-probability that the server sampled with; the entropy of a token is estimated by its own -mu, for a
 * server tells no more; a version is asked for only where the server still has it, and a snapshot first for one token by itself: SkyRL 0.3.0 unpacks one
 * for each of its first requests, and fails those that do so at the same time.
 */
import { MessageChannel } from "node:worker_threads";
import { Effect, Queue, Result, type Scope } from "effect";
import type { Sampled, Version } from "../../domain/Episode.ts";
import { PolicyError } from "../../domain/Errors.ts";
import { stream } from "../../domain/Random.ts";
import type { Generator } from "../../generation/Generator.ts";
import type { GenerateRequest, GeneratorGauges } from "../../generation/Policy.ts";
import { History } from "../../generation/Reply.ts";
import type { WeightsMessage } from "../../model/weights/Weights.ts";
import { endingOf, type Stops } from "../generation/ending.ts";
import type { Client } from "./Client.ts";
import { readSample } from "./Model.ts";
import type { Sampled as SampledCounts } from "./metrics.ts";
import { Sessions } from "./Sessions.ts";
import type { Sessions as Kind } from "./servers.ts";
import type { TinkerError } from "./TinkerError.ts";
import * as Json from "./wire/json.ts";
import { type CheckedSequence, checked } from "./wire/Sample.ts";

export interface TinkerGeneratorOptions {
  readonly client: Client;
  readonly sessions: Kind;
  readonly stops: Stops;
  /** Rows of the model's embedding, and its positions. */
  readonly vocabSize: number;
  readonly maxPositions: number;
  /** Sequences at once. */
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

/** Seeds of servers are integers of 31 bits. */
const seedOf = (key: GenerateRequest["key"]): number => stream(key).int(2 ** 31 - 1);

/** What is said of a sample beside its prompt. */
interface Asked {
  readonly maxTokens: number;
  readonly seed: number;
  readonly sampling: GenerateRequest["sampling"];
}

const plain: GenerateRequest["sampling"] = { temperature: 1, topK: -1, topP: 1 };

class Asking {
  readonly #options: TinkerGeneratorOptions;
  readonly #sequences = new Map<number, Sequence>();
  readonly versions: Sessions;
  #requests = 0;
  #sampledTokens = 0;
  /** What the server sampled beyond the end of a reply, too. */
  #paidTokens = 0;
  #prefilledTokens = 0;
  #adoptions = 0;

  constructor(options: TinkerGeneratorOptions) {
    this.#options = options;
    this.versions = new Sessions(options.sessions);
  }

  adopt(version: Version, name: string): void {
    this.versions.add(version, name);
    this.#adoptions++;
  }

  #refusal({ append, maxTokens, pin, sequence: id }: GenerateRequest): PolicyError | null {
    const known = this.#sequences.get(id);
    const { maxPositions, vocabSize } = this.#options;
    if (known?.busy === true) return bad(`sequence ${id} is being generated already`);
    if (maxTokens < 1) return bad(`maxTokens must be 1 or more, not ${maxTokens}`);
    if (known === undefined && append.length === 0) return bad(`sequence ${id} opens without a token`);
    const length = (known?.length ?? 0) + append.length;
    if (length > maxPositions)
      return bad(`a history of ${length} tokens exceeds the model's ${maxPositions} positions`);
    const foreign = append.find((token) => token < 0 || token >= vocabSize);
    if (foreign !== undefined) return bad(`id ${foreign} is outside the vocabulary of ${vocabSize}`);
    if (known !== undefined && known.pin !== pin) return bad(`sequence ${id} cannot change its pinned version`);
    return null;
  }

  #open({ pin, sequence: id }: GenerateRequest): Sequence {
    const known = this.#sequences.get(id);
    if (known !== undefined) return known;
    const opened: Sequence = { history: new History(), pin, length: 0, busy: false };
    this.#sequences.set(id, opened);
    return opened;
  }

  #ask(name: string, prompt: Int32Array, request: Asked): Effect.Effect<CheckedSequence, PolicyError> {
    const { client, stops, vocabSize } = this.#options;
    const { maxTokens, sampling, seed } = request;
    this.#requests++;
    const asked = client.ask({
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
            stop: [...stops.ids],
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
        return checked(output.success, { maxTokens, vocabSize });
      },
    });
    return Effect.mapError(
      Effect.tap(asked, ({ tokens }) =>
        Effect.sync(() => {
          this.#paidTokens += tokens.length;
          this.#prefilledTokens += prompt.length;
        }),
      ),
      policyError,
    );
  }

  /** Has the server make a snapshot ready. */
  warm(name: string): Effect.Effect<void, PolicyError> {
    return Effect.asVoid(this.#ask(name, Int32Array.of(0), { maxTokens: 1, seed: 0, sampling: plain }));
  }

  /** The reply in what the server sampled, which may have gone on after its end. */
  #reply({ finish, logprobs, tokens }: CheckedSequence, version: Version, left: number): Sampled {
    const { stops } = this.#options;
    const ending = endingOf(tokens, stops, stops.matcher?.start ?? 0, left);
    const ids = tokens.slice(0, ending.kept);
    const mu = logprobs.slice(0, ending.kept);
    return {
      ids,
      mu,
      versions: new Int32Array(ending.kept).fill(version),
      entropies: mu.map((value) => -value),
      finish: ending.finish ?? finish,
    };
  }

  readonly generate = Effect.fnUntraced({ self: this }, function* (this: Asking, request: GenerateRequest) {
    const refused = this.#refusal(request);
    if (refused !== null) return yield* refused;
    const sequence = this.#open(request);
    const base = sequence.length;
    sequence.history.write(request.append, base);
    const length = base + request.append.length;
    sequence.busy = true;
    const sampling = Effect.gen({ self: this }, function* () {
      const version = request.pin ?? (yield* this.versions.reaches(0));
      const name = yield* this.versions.named(version);
      const prompt = sequence.history.ids.slice(0, length);
      const found = yield* this.#ask(name, prompt, { ...request, seed: seedOf(request.key) });
      const sampled = this.#reply(found, version, request.maxTokens);
      sequence.history.write(sampled.ids, length);
      sequence.length = length + sampled.ids.length;
      this.#sampledTokens += sampled.ids.length;
      return sampled;
    });
    return yield* Effect.ensuring(
      sampling,
      Effect.sync(() => {
        sequence.busy = false;
        // A request without an answer leaves the sequence as it was.
        if (sequence.length === 0) this.#sequences.delete(request.sequence);
      }),
    );
  });

  release(id: number): void {
    this.#sequences.delete(id);
  }

  counts(): SampledCounts {
    return { prompt: this.#prefilledTokens, sampled: this.#paidTokens, requests: this.#requests };
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

/** Versions come in on its one port, and are acknowledged as they may be sampled from. */
export const make = Effect.fnUntraced(function* (
  options: TinkerGeneratorOptions,
): Effect.fn.Return<TinkerGenerator, never, Scope.Scope> {
  const asking = new Asking(options);
  const { versions } = asking;
  const { port1, port2 } = new MessageChannel();
  const arrived = yield* Queue.unbounded<WeightsMessage>();
  port1.on("message", (message: WeightsMessage) => Queue.offerUnsafe(arrived, message));
  const adopting = Effect.gen(function* () {
    const { payload, version } = yield* Queue.take(arrived);
    if (payload._tag === "remote") {
      if (options.sessions === "snapshots") yield* asking.warm(payload.id);
      asking.adopt(version, payload.id);
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
    generate: (request) => asking.generate(request),
    release: (sequence) => Effect.sync(() => asking.release(sequence)),
    version: versions.reaches(0),
    awaitVersion: (version) => Effect.asVoid(versions.reaches(version)),
    hold: Effect.acquireRelease(
      Effect.tap(versions.reaches(0), (version) => Effect.sync(() => versions.hold(version))),
      (version) => Effect.sync(() => versions.unhold(version)),
    ),
    gauges: Effect.sync(() => asking.gauges()),
    died: Effect.andThen(versions.reaches(Number.POSITIVE_INFINITY), Effect.never),
    counts: () => asking.counts(),
  };
});
