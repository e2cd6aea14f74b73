/**
 * The policy over generation servers. The whole history goes out with each request, and a reply comes back as the ids that were sampled, each with
 * its log-probability and the version that drew it. Invariants: the same ids make the same reply as in a generator thread; a server that is lost in
 * the middle of a reply costs the part that was under way and no more.
 */
import { randomUUID } from "node:crypto";
import type { MessagePort } from "node:worker_threads";
import { Effect } from "effect";
import type { Sampled, Version } from "../../domain/Episode.ts";
import type { PolicyError } from "../../domain/Errors.ts";
import { stream } from "../../domain/Random.ts";
import type { Generator } from "../../generation/Generator.ts";
import type { GenerateRequest, GeneratorGauges } from "../../generation/Policy.ts";
import type { Publisher } from "../weights/Publisher.ts";
import type { Crew } from "./Crew.ts";
import type { Answer } from "./Dialect.ts";
import { endingOf, type Stops } from "./ending.ts";
import { type Sequence, Sequences } from "./Sequences.ts";

export interface RemoteOptions {
  readonly crew: Crew;
  readonly publisher: Publisher;
  readonly stops: Stops;
  /** The same stop sequences as text, for servers to end a reply by. */
  readonly stopTexts: readonly string[];
  readonly vocabSize: number;
  /** Of the longest sequence, the servers' and the model's. */
  readonly positions: () => number;
  /** Tokens of one request at most. */
  readonly requestTokens: number;
  /** Whether caches of older weights are kept between the replies of a sequence. */
  readonly keepsCaches: boolean;
}

export interface RemoteCounts {
  /** Tokens that were sent, whatever servers had cached of them, and tokens that came back. */
  readonly prompt: number;
  readonly sampled: number;
}

export interface RemoteGenerator extends Generator {
  readonly counts: () => RemoteCounts;
}

/** The parts of a reply, end to end. */
class Parts {
  readonly #answers: Answer[] = [];
  readonly #kept: number[] = [];
  count = 0;

  add(answer: Answer, kept: number): void {
    this.#answers.push(answer);
    this.#kept.push(kept);
    this.count += kept;
  }

  #joined<A extends Int32Array | Float32Array>(into: A, of: (answer: Answer) => A): A {
    let at = 0;
    for (const [index, answer] of this.#answers.entries()) {
      const kept = this.#kept[index] ?? 0;
      into.set(of(answer).subarray(0, kept), at);
      at += kept;
    }
    return into;
  }

  get ids(): Int32Array {
    return this.#joined(new Int32Array(this.count), ({ ids }) => ids);
  }

  sampled(finish: Sampled["finish"]): Sampled {
    const mu = this.#joined(new Float32Array(this.count), (answer) => answer.mu);
    return {
      ids: this.ids,
      mu,
      versions: this.#joined(new Int32Array(this.count), ({ versions }) => versions),
      // One draw's surprise: its mean over draws is the entropy, which no server tells.
      entropies: mu.map((value) => -value),
      finish,
    };
  }
}

class RemotePolicy implements RemoteGenerator {
  readonly ports: readonly MessagePort[];
  readonly #options: RemoteOptions;
  readonly #sequences = new Sequences();
  #prompt = 0;
  #sampled = 0;

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.ports = [options.publisher.port];
  }

  readonly counts = (): RemoteCounts => ({ prompt: this.#prompt, sampled: this.#sampled });

  readonly generate = (request: GenerateRequest): Effect.Effect<Sampled, PolicyError> =>
    Effect.suspend(() => {
      const { crew, positions, vocabSize } = this.#options;
      const holds = (version: number) => crew.holds(version);
      const refused = this.#sequences.refusal(request, { holds, positions: positions(), vocabSize });
      if (refused !== undefined) return Effect.fail(refused);
      return this.#sequences.generate(request, (sequence) => this.#reply(request, sequence));
    });

  readonly release = (id: number): Effect.Effect<void> =>
    Effect.sync(() => {
      this.#sequences.release(id);
      this.#options.crew.release(id);
    });

  /** Asks for part after part until the reply has ended. */
  readonly #reply = Effect.fnUntraced(
    { self: this },
    function* (
      this: RemotePolicy,
      request: GenerateRequest,
      sequence: Sequence,
    ): Effect.fn.Return<Sampled, PolicyError> {
      const { crew, keepsCaches, positions, requestTokens, stopTexts, stops } = this.#options;
      const { key, maxTokens, pin, sampling, sequence: id } = request;
      const random = stream(key);
      const prompt = sequence.history.ids.slice(0, sequence.length);
      const most = Math.min(maxTokens, positions() - prompt.length);
      const parts = new Parts();
      let state = stops.matcher?.start ?? 0;
      for (;;) {
        const left = most - parts.count;
        const ids = parts.count === 0 ? prompt : Int32Array.of(...prompt, ...parts.ids);
        const wish = {
          id: randomUUID(),
          ids,
          maxTokens: Math.min(left, requestTokens),
          sampling,
          // Servers take a seed of 63 bits, and JavaScript's integers have 53.
          seed: random.uint32(),
          stops: stopTexts,
          stopIds: [...stops.ids],
          cacheOf: keepsCaches ? sequence.cacheOf : null,
        };
        this.#prompt += ids.length;
        const answer = yield* crew.ask(id, wish, pin);
        this.#sampled += answer.ids.length;
        sequence.cacheOf ??= answer.versions[0] ?? null;
        const ending = endingOf(answer.ids, stops, state, left);
        parts.add(answer, ending.kept);
        state = ending.state;
        // A server may end a part where no stop of ours is: the reply goes on.
        if (ending.finish !== null) return parts.sampled(ending.finish);
      }
    },
  );

  // Fields all of them, not accessors: a stage in front of the policy spreads it.
  readonly version = Effect.suspend(() => this.#options.crew.versions.newestOrFailure);
  readonly hold = Effect.suspend(() => this.#options.crew.hold);
  readonly died = Effect.suspend(() => Effect.raceFirst(this.#options.crew.died, this.#options.publisher.died));

  readonly awaitVersion = (version: Version): Effect.Effect<void, PolicyError> =>
    this.#options.crew.versions.awaitVersion(version);

  readonly gauges: Effect.Effect<GeneratorGauges, PolicyError> = Effect.suspend(() => {
    const { adoptions, fleet, versions } = this.#options.crew;
    return Effect.map(versions.newestOrFailure, (version) => ({
      version,
      slots: fleet.places,
      active: this.#sequences.active,
      idle: this.#sequences.count - this.#sequences.active,
      sampledTokens: this.#sampled,
      adoptions: adoptions.count,
      adoptionMs: adoptions.ms,
    }));
  });
}

/** The policy over servers that have joined; `crew.run` is the caller's. */
export const make = (options: RemoteOptions): RemoteGenerator => new RemotePolicy(options);
