/**
 * The policy over generation servers. Each request carries the whole history; each reply is the sampled ids with their log-probabilities
 * and versions. Invariants: the same ids make the same reply as in a generator thread; a server that is lost during a reply costs only the
 * part in progress.
 */
import { randomUUID } from "node:crypto";
import type { MessagePort } from "node:worker_threads";
import { Effect } from "effect";
import type { Sampled, Version } from "../../domain/Episode.ts";
import type { PolicyError } from "../../domain/Errors.ts";
import { stream } from "../../domain/Random.ts";
import type { Generator } from "../../generation/Generator.ts";
import type { GenerateRequest, GeneratorGauges } from "../../generation/Policy.ts";
import type { StopMatchers } from "../../model/tokenizer/StopMatcher.ts";
import type { Publisher } from "../weights/Publisher.ts";
import type { SampledPart } from "./Dialect.ts";
import { type OpenSequence, OpenSequences } from "./OpenSequences.ts";
import { findReplyEnd } from "./ReplyEnd.ts";
import type { ServerSet } from "./ServerSet.ts";

export interface RemotePolicyOptions {
  readonly servers: ServerSet;
  readonly publisher: Publisher;
  readonly stopIds: ReadonlySet<number>;
  readonly stops: StopMatchers;
  /** Stop sequences as text, so that servers can end a reply early. */
  readonly stopTexts: readonly string[];
  readonly vocabSize: number;
  /** Positions of the longest sequence: the least of the servers' and the model's. */
  readonly mostPositions: () => number;
  /** Most tokens of one request. */
  readonly requestTokens: number;
  /** True if caches of older weights are kept between the replies of a sequence. */
  readonly keepsCaches: boolean;
}

export interface TokenCounts {
  /** Tokens that were sent, cached at the server or not, and tokens that came back. */
  readonly prompt: number;
  readonly sampled: number;
}

export interface RemoteGenerator extends Generator {
  readonly counts: () => TokenCounts;
}

/** Collects the parts of a reply. */
class ReplyParts {
  readonly #parts: SampledPart[] = [];
  readonly #lengths: number[] = [];
  count = 0;

  add(part: SampledPart, length: number): void {
    this.#parts.push(part);
    this.#lengths.push(length);
    this.count += length;
  }

  #joined<A extends Int32Array | Float32Array>(into: A, field: (part: SampledPart) => A): A {
    let offset = 0;
    for (const [index, part] of this.#parts.entries()) {
      const length = this.#lengths[index] ?? 0;
      into.set(field(part).subarray(0, length), offset);
      offset += length;
    }
    return into;
  }

  get ids(): Int32Array {
    return this.#joined(new Int32Array(this.count), ({ ids }) => ids);
  }

  sampled(finish: Sampled["finish"]): Sampled {
    const mu = this.#joined(new Float32Array(this.count), (part) => part.mu);
    return {
      ids: this.ids,
      mu,
      versions: this.#joined(new Int32Array(this.count), ({ versions }) => versions),
      // Estimates the entropy by -mu of the drawn token, whose mean is the entropy; no server reports it.
      entropies: mu.map((value) => -value),
      finish,
    };
  }
}

class RemotePolicy implements RemoteGenerator {
  readonly ports: readonly MessagePort[];
  readonly #options: RemotePolicyOptions;
  readonly #sequences = new OpenSequences();
  #prompt = 0;
  #sampled = 0;

  constructor(options: RemotePolicyOptions) {
    this.#options = options;
    this.ports = [options.publisher.port];
  }

  readonly counts = (): TokenCounts => ({ prompt: this.#prompt, sampled: this.#sampled });

  readonly generate = (request: GenerateRequest): Effect.Effect<Sampled, PolicyError> =>
    Effect.suspend(() => {
      const { servers, mostPositions, vocabSize } = this.#options;
      const canPin = (version: number) => servers.canPin(version);
      const refusal = this.#sequences.refusal(request, { canPin, mostPositions: mostPositions(), vocabSize });
      if (refusal !== undefined) return Effect.fail(refusal);
      return this.#sequences.generate(request, (sequence) => this.#reply(request, sequence));
    });

  readonly release = (id: number): Effect.Effect<void> =>
    Effect.sync(() => {
      this.#sequences.release(id);
      this.#options.servers.release(id);
    });

  /** Requests part after part until the reply has ended. */
  readonly #reply = Effect.fnUntraced(
    { self: this },
    function* (
      this: RemotePolicy,
      request: GenerateRequest,
      sequence: OpenSequence,
    ): Effect.fn.Return<Sampled, PolicyError> {
      const { servers, keepsCaches, mostPositions, requestTokens, stopIds, stopTexts } = this.#options;
      const { key, maxTokens, pin, sampling, sequence: id, stop = [] } = request;
      const rules = { ids: stopIds, matcher: this.#options.stops(stop) };
      const random = stream(key);
      const prompt = sequence.history.ids.slice(0, sequence.length);
      const mostTokens = Math.min(maxTokens, mostPositions() - prompt.length);
      const parts = new ReplyParts();
      let state = rules.matcher?.start ?? 0;
      for (;;) {
        const left = mostTokens - parts.count;
        const ids = parts.count === 0 ? prompt : Int32Array.of(...prompt, ...parts.ids);
        const partRequest = {
          id: randomUUID(),
          ids,
          maxTokens: Math.min(left, requestTokens),
          sampling,
          // Servers take seeds of 63 bits, and JavaScript's integers have 53.
          seed: random.uint32(),
          stops: [...stopTexts, ...stop],
          stopIds: [...stopIds],
          cacheOf: keepsCaches ? sequence.cacheOf : null,
        };
        this.#prompt += ids.length;
        const part = yield* servers.request(id, partRequest, pin);
        this.#sampled += part.ids.length;
        sequence.cacheOf ??= part.versions[0] ?? null;
        const end = findReplyEnd(part.ids, rules, state, left);
        parts.add(part, end.length);
        state = end.state;
        // A server may end a part without a stop of ours; then the reply goes on.
        if (end.finish !== null) return parts.sampled(end.finish);
      }
    },
  );

  // These are fields, not accessors: a stage in front of the policy spreads it.
  readonly version = Effect.suspend(() => this.#options.servers.versions.newestOrFailure);
  readonly hold = Effect.suspend(() => this.#options.servers.hold);
  readonly died = Effect.suspend(() => Effect.raceFirst(this.#options.servers.died, this.#options.publisher.died));

  readonly awaitVersion = (version: Version): Effect.Effect<void, PolicyError> =>
    this.#options.servers.versions.awaitVersion(version);

  readonly gauges: Effect.Effect<GeneratorGauges, PolicyError> = Effect.suspend(() => {
    const { adoptions, router, versions } = this.#options.servers;
    return Effect.map(versions.newestOrFailure, (version) => ({
      version,
      slots: router.places,
      active: this.#sequences.active,
      idle: this.#sequences.count - this.#sequences.active,
      sampledTokens: this.#sampled,
      adoptions: adoptions.count,
      adoptionMs: adoptions.ms,
    }));
  });
}

/** Makes the policy over servers that have joined; the caller starts `servers`. */
export const make = (options: RemotePolicyOptions): RemoteGenerator => new RemotePolicy(options);
