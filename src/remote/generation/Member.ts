/**
 * One generation server of a run: whether it is fit, which versions it has, and what it makes of a fixed text after each new one. Invariants: a
 * version counts as there only after the server's log-probabilities of the text are ours; an adapter is not let go while a request uses it.
 */
import { Effect, Semaphore } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { Published } from "../weights/Publisher.ts";
import type { Channel } from "./Channel.ts";
import type { Answer, Ask, Dialect, Load, Server, Wanted } from "./Dialect.ts";
import { USUAL_PLACES } from "./pressure.ts";
import { distance } from "./probe.ts";
import { failed, type ServerFailure } from "./ServerFailure.ts";

export interface MemberOptions {
  readonly dialect: Dialect;
  readonly channel: Channel;
  readonly wanted: Wanted;
  /** First part of the names of the run's versions. */
  readonly run: string;
  /** How far its log-probabilities may lie from ours at the start, nats. */
  readonly tolerance: number;
  /** Requests at once; 0 is what it says. */
  readonly concurrency: number;
}

/** After the start, the distance may grow to so many times what it was, and to this at least. */
const GROWTH = 10;
const LEAST = 1e-4;

export class Member {
  readonly name: string;
  readonly #options: MemberOptions;
  readonly #lock = Semaphore.makeUnsafe(1);
  /** The model's name there; known once it was checked. */
  #model = "";
  #program = "";
  #positions = Number.POSITIVE_INFINITY;
  #most = USUAL_PLACES;
  #seeds = true;
  #newest: Version = -1;
  /** Adapters that are there, each with the requests that use it. */
  readonly #adapters = new Map<Version, number>();
  /** How far its log-probabilities lay from ours when both had the starting weights. */
  #noise: number | undefined;
  #tempered = false;
  #last: Load = {};

  constructor(options: MemberOptions) {
    this.#options = options;
    this.name = options.channel.name;
  }

  /** The newest version that it has. */
  get newest(): Version {
    return this.#newest;
  }

  /** Requests at once, at most. */
  get most(): number {
    return this.#most;
  }

  /** Positions of the longest sequence it takes. */
  get positions(): number {
    return this.#positions;
  }

  /** Its program, as "vLLM 0.32.0". */
  get program(): string {
    return this.#program;
  }

  /** What it said of its queue last. */
  get load(): Load {
    return this.#last;
  }

  get #server(): Server {
    const { channel, run, wanted } = this.#options;
    return { channel, model: this.#model, run, wanted };
  }

  /** Checks the server and gives it these versions; the last one is the newest. Fails as `unfit` where the run cannot use it. */
  readonly join = (versions: readonly Published[]): Effect.Effect<void, ServerFailure> =>
    this.#lock.withPermits(1)(this.#joining(versions));

  /** Gives it a newer version; requests that run go on. */
  readonly adopt = (published: Published): Effect.Effect<void, ServerFailure> =>
    this.#lock.withPermits(1)(this.#adopting(published));

  readonly #joining = Effect.fnUntraced({ self: this }, function* (this: Member, versions: readonly Published[]) {
    const { channel, concurrency, dialect, wanted } = this.#options;
    const facts = yield* dialect.check(channel, wanted);
    this.#model = facts.model;
    this.#program = facts.program;
    this.#positions = facts.positions;
    this.#seeds = facts.seeds;
    this.#most = concurrency > 0 ? concurrency : (facts.concurrency ?? USUAL_PLACES);
    this.#adapters.clear();
    this.#newest = -1;
    yield* this.#recognised(versions);
    for (const published of versions) {
      if (yield* dialect.has(this.#server, published.version)) yield* this.#arrived(published);
      else yield* this.#adopting(published);
    }
    if (!this.#tempered) yield* this.#checkTempered(versions);
  });

  /** A server that still has the weights it was started with is asked for the model before it is given others. */
  readonly #recognised = Effect.fnUntraced({ self: this }, function* (this: Member, [first]: readonly Published[]) {
    const { channel, dialect } = this.#options;
    if (first?.kind !== "full" || first.version !== 0 || this.#noise !== undefined) return;
    if (yield* dialect.untouched(channel)) yield* this.#compare(first);
  });

  readonly #adopting = Effect.fnUntraced({ self: this }, function* (this: Member, published: Published) {
    yield* this.#options.dialect.adopt(this.#server, published);
    yield* this.#arrived(published);
  });

  readonly #arrived = Effect.fnUntraced({ self: this }, function* (this: Member, published: Published) {
    yield* this.#compare(published);
    if (published.kind === "adapter") this.#adapters.set(published.version, this.#adapters.get(published.version) ?? 0);
    this.#newest = Math.max(this.#newest, published.version);
  });

  /** How far its log-probabilities lie from ours at a temperature. */
  readonly #distance = Effect.fnUntraced(
    { self: this },
    function* (this: Member, rows: Float32Array, version: Version, temperature: number) {
      const { dialect, wanted } = this.#options;
      const { ids, lengths } = wanted.probe;
      const theirs = yield* Effect.forEach(
        lengths,
        (length) => dialect.likeliest(this.#server, version, ids.slice(0, length), temperature),
        { concurrency: "unbounded" },
      );
      return distance(rows, theirs, temperature);
    },
  );

  readonly #compare = Effect.fnUntraced({ self: this }, function* (this: Member, published: Published) {
    const { scores: rows, version } = published;
    if (rows === null) return;
    const apart = yield* this.#distance(rows, version, 1);
    const first = this.#noise === undefined;
    if (apart <= this.#allowed) {
      this.#noise ??= apart;
      return;
    }
    return yield* failed("unfit", `${this.name}: ${first ? this.#stranger(apart) : this.#stale(apart, published)}`);
  });

  get #allowed(): number {
    const { tolerance } = this.#options;
    return this.#noise === undefined ? tolerance : Math.max(LEAST, GROWTH * this.#noise);
  }

  /** At another temperature than 1 they are of another distribution: the one that is sampled from. */
  readonly #checkTempered = Effect.fnUntraced({ self: this }, function* (this: Member, versions: readonly Published[]) {
    const newest = versions.at(-1);
    if (newest === undefined || newest.scores === null) return;
    const apart = yield* this.#distance(newest.scores, newest.version, 0.5);
    // Half the temperature makes every distance twice as large.
    if (apart > 2 * this.#allowed) {
      const { temperedBy } = this.#options.dialect;
      const what = "its log-probabilities are not of the distribution it samples from at temperature 0.5";
      return yield* failed("unfit", `${this.name}: ${what}; start it with ${temperedBy}`);
    }
    this.#tempered = true;
  });

  #stranger(apart: number): string {
    const { tolerance } = this.#options;
    const far = `its log-probabilities of a fixed text lie ${apart.toPrecision(2)} nats from ours on average`;
    const allowed = `model.generator.probe_tolerance allows ${tolerance}`;
    return `${far}, and ${allowed}: it computes another model, or in another format of numbers; start it with the folder of model.path`;
  }

  #stale(apart: number, { folder, kind, version }: Published): string {
    const far = `with version ${version} its log-probabilities of a fixed text lie ${apart.toPrecision(2)} nats from ours on average`;
    if (kind === "adapter") return `${far}: it did not take the adapter as it is`;
    const trap =
      "a server that was started with a model that shares its output matrix with the embedding (tie_word_embeddings) keeps the old matrix";
    return `${far}: it did not take all weights; ${trap}; start it with a folder that millrace untie writes, or with ${folder}`;
  }

  /** One request. `pin` asks for a version; null is the newest that is there. */
  readonly generate = (
    ask: Omit<Ask, "version" | "cacheOf"> & { readonly cacheOf: Version | null },
    pin: Version | null,
  ): Effect.Effect<Answer, ServerFailure> =>
    Effect.suspend(() => {
      const version = pin ?? this.#newest;
      const using = this.#adapters.get(version);
      const seed = this.#seeds ? ask.seed : null;
      const asked = { ...ask, seed, version, cacheOf: ask.cacheOf ?? version };
      const answer = this.#options.dialect.generate(this.#server, asked);
      if (using === undefined) return answer;
      this.#adapters.set(version, using + 1);
      return Effect.ensuring(
        answer,
        Effect.sync(() => {
          const now = this.#adapters.get(version);
          if (now !== undefined) this.#adapters.set(version, now - 1);
        }),
      );
    });

  /** Lets adapters go that are older than `than`, used by no request, and not `kept`. */
  readonly forget = (than: Version, kept: (version: Version) => boolean): Effect.Effect<void, ServerFailure> =>
    Effect.suspend(() => {
      const gone = [...this.#adapters].flatMap(([version, using]) =>
        version < than && using === 0 && !kept(version) ? [version] : [],
      );
      for (const version of gone) this.#adapters.delete(version);
      return Effect.forEach(gone, (version) => this.#options.dialect.forget(this.#server, version), { discard: true });
    });

  /** Asks it for its load. */
  readonly measured: Effect.Effect<Load, ServerFailure> = Effect.suspend(() =>
    Effect.tap(this.#options.dialect.load(this.#options.channel), (load) =>
      Effect.sync(() => {
        this.#last = load;
      }),
    ),
  );
}
