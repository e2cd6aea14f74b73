/**
 * The requests that every kind of generation server must serve, each in its own words: `vllm.ts` and `sglang.ts` implement them. Ids go in
 * and come out; text goes only into stop sequences. Invariant: replies are checked: ids of the vocabulary, finite log-probabilities not
 * above 0, lengths as requested, and a version for every token.
 */
import type { Effect } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { Sampling } from "../../generation/Policy.ts";
import type { Probe } from "../weights/Prober.ts";
import type { PublishedVersion } from "../weights/Publisher.ts";
import type { Channel } from "./Channel.ts";
import type { LikeliestTokens } from "./probeDistance.ts";
import type { ServerFailure } from "./ServerFailure.ts";

/** A run's requirements of a server. */
export interface ServerRequirements {
  /** The model's name at the server; empty takes its only one. */
  readonly model: string;
  /** Rows of the embedding; every id is below it. */
  readonly vocabSize: number;
  /** Positions of the longest sequence. */
  readonly positions: number;
  /** Kind of the run's versions: whole models or adapters. */
  readonly kind: PublishedVersion["kind"];
  /** Rank of the adapter; 0 without one. */
  readonly rank: number;
  /** A text, and its ids by our tokenizer. */
  readonly text: string;
  readonly ids: Int32Array;
  /** Prefixes behind which log-probabilities are compared. */
  readonly probe: Probe;
}

/** A server's own description. */
export interface ServerFacts {
  /** The model's name in requests. */
  readonly model: string;
  /** Positions of the longest sequence it takes. */
  readonly positions: number;
  /** Requests it works on at once; null if it does not say. */
  readonly concurrency: number | null;
  /** True if a request may have its own seed. */
  readonly takesSeeds: boolean;
  /** Its program and version, as "vLLM 0.32.0". */
  readonly program: string;
}

export interface ServerRequest {
  /** Id of the request at the server. */
  readonly id: string;
  readonly ids: Int32Array;
  readonly maxTokens: number;
  readonly sampling: Sampling;
  /** Seed of the server's random numbers; null leaves it to the server. */
  readonly seed: number | null;
  readonly stops: readonly string[];
  readonly stopIds: readonly number[];
  /** The version to sample with; a server that holds one at a time uses its newest. */
  readonly version: Version;
  /** Prompts share caches only with requests of this version. */
  readonly cacheOf: Version;
}

/** A checked part of a reply. `finish` is the server's; our own stops decide which tokens belong to the reply. */
export interface SampledPart {
  readonly ids: Int32Array;
  readonly mu: Float32Array;
  readonly versions: Int32Array;
  readonly finish: "stop" | "length";
}

/** A server's report of its load; values that it does not report are absent. */
export interface ServerLoad {
  readonly running?: number;
  readonly waiting?: number;
  /** Share of the cache's blocks in use, 0 to 1. */
  readonly cache?: number;
  /** Tokens since the server's start. */
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
}

/** A server, and the run's names at it. */
export interface ServerContext {
  readonly channel: Channel;
  readonly model: string;
  /** First part of the labels of the run's versions. */
  readonly run: string;
  readonly requirements: ServerRequirements;
}

export interface Dialect {
  /** True if versions of this kind stay at the server beside newer ones. */
  readonly pinsVersions: (kind: PublishedVersion["kind"]) => boolean;
  /** Fails as `unfit` if the run cannot use the server; the message says how to start it. */
  readonly check: (channel: Channel, requirements: ServerRequirements) => Effect.Effect<ServerFacts, ServerFailure>;
  readonly generate: (server: ServerContext, ask: ServerRequest) => Effect.Effect<SampledPart, ServerFailure>;
  /**
   * Returns the likeliest tokens behind a prompt, with log-probabilities at a temperature, by an ordinary request: vLLM 0.32 dies over
   * prompt scores beside other requests, if it serves adapters on the CPU.
   */
  readonly likeliestTokens: (
    server: ServerContext,
    version: Version,
    prompt: Int32Array,
    temperature: number,
  ) => Effect.Effect<LikeliestTokens, ServerFailure>;
  /** Flag for a server whose log-probabilities are not of the distribution it samples from. */
  readonly temperedFlag: string;
  /** True if the server has its starting weights and was given no others. */
  readonly hasStartingWeights: (channel: Channel) => Effect.Effect<boolean, ServerFailure>;
  /** True if the server has this version of the run. */
  readonly hasVersion: (server: ServerContext, version: Version) => Effect.Effect<boolean, ServerFailure>;
  /** Gives the server a version; running requests continue. */
  readonly adopt: (server: ServerContext, published: PublishedVersion) => Effect.Effect<void, ServerFailure>;
  /** Unloads a version that no request uses. Does nothing if a newer one has replaced it. */
  readonly unload: (server: ServerContext, version: Version) => Effect.Effect<void, ServerFailure>;
  readonly fetchLoad: (channel: Channel) => Effect.Effect<ServerLoad, ServerFailure>;
}
