/**
 * What every kind of generation server is asked for, each in its own words: `vllm.ts` and `sglang.ts` implement it. Ids go in and come out; text
 * is only sent as stop sequences. Invariant: what comes back is checked: ids are of the vocabulary, log-probabilities finite and not above 0,
 * lengths as asked, and every token has the version that sampled it.
 */
import type { Effect } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { Sampling } from "../../generation/Policy.ts";
import type { Probe } from "../weights/Prober.ts";
import type { Published } from "../weights/Publisher.ts";
import type { Channel } from "./Channel.ts";
import type { Likeliest } from "./probe.ts";
import type { ServerFailure } from "./ServerFailure.ts";

/** What the run needs of a server. */
export interface Wanted {
  /** The model's name there; empty is its only one. */
  readonly model: string;
  /** Rows of the embedding: ids are below it. */
  readonly vocabSize: number;
  /** Positions of the longest sequence. */
  readonly positions: number;
  /** Whether versions are adapters. */
  readonly kind: Published["kind"];
  /** Rank of the adapter; 0 without one. */
  readonly rank: number;
  /** A text, and its ids by our tokenizer. */
  readonly text: string;
  readonly ids: Int32Array;
  /** What log-probabilities are compared behind. */
  readonly probe: Probe;
}

/** What a server says of itself. */
export interface Facts {
  /** The model's name in requests. */
  readonly model: string;
  /** Positions of the longest sequence it takes. */
  readonly positions: number;
  /** Requests it works on at once; null where it does not say. */
  readonly concurrency: number | null;
  /** Whether a request may have a seed of its own. */
  readonly seeds: boolean;
  /** Its program and version, as "vLLM 0.32.0". */
  readonly program: string;
}

export interface Ask {
  /** Its own name for the request, to end it by. */
  readonly id: string;
  readonly ids: Int32Array;
  readonly maxTokens: number;
  readonly sampling: Sampling;
  /** Of the server's own generator of random numbers; null leaves it to the server. */
  readonly seed: number | null;
  readonly stops: readonly string[];
  readonly stopIds: readonly number[];
  /** The version that the server is to sample with; where it holds one at a time, the newest it has. */
  readonly version: Version;
  /** Caches of prompts are shared between requests of the same version here. */
  readonly cacheOf: Version;
}

/** An answer, checked. `finish` is the server's: which of the tokens are the reply is decided by our own stops. */
export interface Answer {
  readonly ids: Int32Array;
  readonly mu: Float32Array;
  readonly versions: Int32Array;
  readonly finish: "stop" | "length";
}

/** How busy a server says it is; what it does not say is absent. */
export interface Load {
  readonly running?: number;
  readonly waiting?: number;
  /** Share of the cache's blocks in use. */
  readonly cache?: number;
  /** Counters since its start. */
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
}

/** A server of the run: where it is, and how the run calls its versions there. */
export interface Server {
  readonly channel: Channel;
  readonly model: string;
  /** First part of the names of the run's versions. */
  readonly run: string;
  readonly wanted: Wanted;
}

export interface Dialect {
  /** Whether versions of this kind stay at the server beside newer ones. */
  readonly pins: (kind: Published["kind"]) => boolean;
  /** Fails as `unfit` where the run cannot use the server, with what to start it with. */
  readonly check: (channel: Channel, wanted: Wanted) => Effect.Effect<Facts, ServerFailure>;
  readonly generate: (server: Server, ask: Ask) => Effect.Effect<Answer, ServerFailure>;
  /**
   * The likeliest tokens behind a prompt, with their log-probabilities at a temperature, by a request as any other: 0.32 of vLLM ends its engine over
   * the scores of a prompt beside other requests, where it serves adapters on the CPU.
   */
  readonly likeliest: (
    server: Server,
    version: Version,
    prompt: Int32Array,
    temperature: number,
  ) => Effect.Effect<Likeliest, ServerFailure>;
  /** What to start it with where its log-probabilities are not of the distribution it samples from. */
  readonly temperedBy: string;
  /** Whether it has the weights that it was started with, and no others since. */
  readonly untouched: (channel: Channel) => Effect.Effect<boolean, ServerFailure>;
  /** Whether the server has this version of the run. */
  readonly has: (server: Server, version: Version) => Effect.Effect<boolean, ServerFailure>;
  /** Gives the server a version; requests that run go on. */
  readonly adopt: (server: Server, published: Published) => Effect.Effect<void, ServerFailure>;
  /** Lets a version go that no request uses; does nothing where a newer one took its place. */
  readonly forget: (server: Server, version: Version) => Effect.Effect<void, ServerFailure>;
  readonly load: (channel: Channel) => Effect.Effect<Load, ServerFailure>;
}
