/**
 * One generation server of a run: it is checked, given versions, and compared with our own scores of a fixed text after each. Invariants: a
 * version counts as adopted only once the server's log-probabilities of the text are ours; an adapter is not unloaded while a request uses
 * it.
 */
import { Effect, Semaphore } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { PublishedVersion } from "../weights/Publisher.ts";
import { DEFAULT_PLACES } from "./adjustPlaces.ts";
import type { Channel } from "./Channel.ts";
import type { Dialect, SampledPart, ServerContext, ServerLoad, ServerRequest, ServerRequirements } from "./Dialect.ts";
import { probeDistance } from "./probeDistance.ts";
import { type ServerFailure, serverFailure } from "./ServerFailure.ts";

export interface ServerHandleOptions {
  readonly dialect: Dialect;
  readonly channel: Channel;
  readonly requirements: ServerRequirements;
  /** First part of the labels of the run's versions. */
  readonly run: string;
  /** Largest distance of its log-probabilities from ours at the start, nats. */
  readonly tolerance: number;
  /** Requests at once; 0 takes the server's own limit. */
  readonly concurrency: number;
}

/** After the start the distance may grow by this factor, and at least to `LEAST_TOLERANCE`. */
const TOLERANCE_GROWTH = 10;
const LEAST_TOLERANCE = 1e-4;

export class ServerHandle {
  readonly name: string;
  readonly #options: ServerHandleOptions;
  readonly #lock = Semaphore.makeUnsafe(1);
  /** The model's name at the server; empty before the check. */
  #model = "";
  #program = "";
  #positions = Number.POSITIVE_INFINITY;
  #mostRequests = DEFAULT_PLACES;
  #takesSeeds = true;
  #newest: Version = -1;
  /** The server's adapters, each with its open requests. */
  readonly #adapters = new Map<Version, number>();
  /** Distance of its log-probabilities from ours under the starting weights, nats; undefined before it is measured. */
  #noise: number | undefined;
  #isTemperedChecked = false;
  #load: ServerLoad = {};

  constructor(options: ServerHandleOptions) {
    this.#options = options;
    this.name = options.channel.name;
  }

  /** The newest version that the server has. */
  get newest(): Version {
    return this.#newest;
  }

  /** Largest number of requests at once. */
  get mostRequests(): number {
    return this.#mostRequests;
  }

  /** Positions of the longest sequence it takes. */
  get positions(): number {
    return this.#positions;
  }

  /** Its program and version, such as "vLLM 0.32.0". */
  get program(): string {
    return this.#program;
  }

  /** The load that the server reported last. */
  get load(): ServerLoad {
    return this.#load;
  }

  get #context(): ServerContext {
    const { channel, run, requirements } = this.#options;
    return { channel, model: this.#model, run, requirements };
  }

  /** Checks the server and gives it these versions, the newest last. Fails as `unfit` if the run cannot use the server. */
  readonly join = (versions: readonly PublishedVersion[]): Effect.Effect<void, ServerFailure> =>
    this.#lock.withPermits(1)(this.#checkAndAdopt(versions));

  /** Gives the server a newer version; running requests continue. */
  readonly adopt = (published: PublishedVersion): Effect.Effect<void, ServerFailure> =>
    this.#lock.withPermits(1)(this.#giveVersion(published));

  readonly #checkAndAdopt = Effect.fnUntraced(
    { self: this },
    function* (this: ServerHandle, versions: readonly PublishedVersion[]) {
      const { channel, concurrency, dialect, requirements } = this.#options;
      const facts = yield* dialect.check(channel, requirements);
      this.#model = facts.model;
      this.#program = facts.program;
      this.#positions = facts.positions;
      this.#takesSeeds = facts.takesSeeds;
      this.#mostRequests = concurrency > 0 ? concurrency : (facts.concurrency ?? DEFAULT_PLACES);
      this.#adapters.clear();
      this.#newest = -1;
      yield* this.#compareUntouched(versions);
      for (const published of versions) {
        if (yield* dialect.hasVersion(this.#context, published.version)) yield* this.#confirm(published);
        else yield* this.#giveVersion(published);
      }
      if (!this.#isTemperedChecked) yield* this.#checkTempered(versions);
    },
  );

  /** Compares a server that still has its starting weights, before it is given others. */
  readonly #compareUntouched = Effect.fnUntraced(
    { self: this },
    function* (this: ServerHandle, [first]: readonly PublishedVersion[]) {
      const { channel, dialect } = this.#options;
      if (first?.kind !== "full" || first.version !== 0 || this.#noise !== undefined) return;
      if (yield* dialect.hasStartingWeights(channel)) yield* this.#compare(first);
    },
  );

  readonly #giveVersion = Effect.fnUntraced(
    { self: this },
    function* (this: ServerHandle, published: PublishedVersion) {
      yield* this.#options.dialect.adopt(this.#context, published);
      yield* this.#confirm(published);
    },
  );

  readonly #confirm = Effect.fnUntraced({ self: this }, function* (this: ServerHandle, published: PublishedVersion) {
    yield* this.#compare(published);
    if (published.kind === "adapter") this.#adapters.set(published.version, this.#adapters.get(published.version) ?? 0);
    this.#newest = Math.max(this.#newest, published.version);
  });

  /** Distance of the server's log-probabilities from ours at a temperature, nats. */
  readonly #distance = Effect.fnUntraced(
    { self: this },
    function* (this: ServerHandle, scores: Float32Array, version: Version, temperature: number) {
      const { dialect, requirements } = this.#options;
      const { ids, lengths } = requirements.probe;
      const theirs = yield* Effect.forEach(
        lengths,
        (length) => dialect.likeliestTokens(this.#context, version, ids.slice(0, length), temperature),
        { concurrency: "unbounded" },
      );
      return probeDistance(scores, theirs, temperature);
    },
  );

  readonly #compare = Effect.fnUntraced({ self: this }, function* (this: ServerHandle, published: PublishedVersion) {
    const { scores, version } = published;
    if (scores === null) return;
    const distance = yield* this.#distance(scores, version, 1);
    const isFirst = this.#noise === undefined;
    if (distance <= this.#tolerance) {
      this.#noise ??= distance;
      return;
    }
    return yield* serverFailure(
      "unfit",
      `${this.name}: ${isFirst ? this.#otherModelMessage(distance) : this.#oldWeightsMessage(distance, published)}`,
    );
  });

  get #tolerance(): number {
    const { tolerance } = this.#options;
    return this.#noise === undefined ? tolerance : Math.max(LEAST_TOLERANCE, TOLERANCE_GROWTH * this.#noise);
  }

  /** Checks that log-probabilities at another temperature than 1 are those of the distribution that is sampled from. */
  readonly #checkTempered = Effect.fnUntraced(
    { self: this },
    function* (this: ServerHandle, versions: readonly PublishedVersion[]) {
      const newest = versions.at(-1);
      if (newest === undefined || newest.scores === null) return;
      const distance = yield* this.#distance(newest.scores, newest.version, 0.5);
      // Half the temperature doubles every distance.
      if (distance > 2 * this.#tolerance) {
        const { temperedFlag } = this.#options.dialect;
        const what = "its log-probabilities are not of the distribution it samples from at temperature 0.5";
        return yield* serverFailure("unfit", `${this.name}: ${what}; start it with ${temperedFlag}`);
      }
      this.#isTemperedChecked = true;
    },
  );

  #otherModelMessage(distance: number): string {
    const { tolerance } = this.#options;
    const far = `its log-probabilities of a fixed text lie ${distance.toPrecision(2)} nats from ours on average`;
    const allowed = `model.generator.probe_tolerance allows ${tolerance}`;
    return `${far}, and ${allowed}: it computes another model, or in another format of numbers; start it with the folder of model.path`;
  }

  #oldWeightsMessage(distance: number, { folder, kind, version }: PublishedVersion): string {
    const far = `with version ${version} its log-probabilities of a fixed text lie ${distance.toPrecision(2)} nats from ours on average`;
    if (kind === "adapter") return `${far}: it did not take the adapter as it is`;
    const trap =
      "a server that was started with a model that shares its output matrix with the embedding (tie_word_embeddings) keeps the old matrix";
    return `${far}: it did not take all weights; ${trap}; start it with a folder that millrace untie writes, or with ${folder}`;
  }

  /** Samples tokens with the pinned version; null pins none and takes the newest. */
  readonly generate = (
    options: Omit<ServerRequest, "version" | "cacheOf"> & { readonly cacheOf: Version | null },
    pin: Version | null,
  ): Effect.Effect<SampledPart, ServerFailure> =>
    Effect.suspend(() => {
      const version = pin ?? this.#newest;
      const requests = this.#adapters.get(version);
      const seed = this.#takesSeeds ? options.seed : null;
      const request = { ...options, seed, version, cacheOf: options.cacheOf ?? version };
      const answer = this.#options.dialect.generate(this.#context, request);
      if (requests === undefined) return answer;
      this.#adapters.set(version, requests + 1);
      return Effect.ensuring(
        answer,
        Effect.sync(() => {
          const open = this.#adapters.get(version);
          if (open !== undefined) this.#adapters.set(version, open - 1);
        }),
      );
    });

  /** Unloads adapters that are older than `than`, unused and not held. */
  readonly unloadOlder = (than: Version, isHeld: (version: Version) => boolean): Effect.Effect<void, ServerFailure> =>
    Effect.suspend(() => {
      const unused = [...this.#adapters].flatMap(([version, requests]) =>
        version < than && requests === 0 && !isHeld(version) ? [version] : [],
      );
      for (const version of unused) this.#adapters.delete(version);
      return Effect.forEach(unused, (version) => this.#options.dialect.unload(this.#context, version), {
        discard: true,
      });
    });

  /** Requests the server's load and stores it. */
  readonly refreshLoad: Effect.Effect<ServerLoad, ServerFailure> = Effect.suspend(() =>
    Effect.tap(this.#options.dialect.fetchLoad(this.#options.channel), (load) =>
      Effect.sync(() => {
        this.#load = load;
      }),
    ),
  );
}
