/**
 * The policy as the rollout sees it: ids in, sampled ids out. A sequence is one chat of an episode; its cache stays in the generator
 * between turns. Invariant: a reply depends on (weights, history, stream key), never on the other sequences of its batch.
 */
import { Context, type Effect, type Scope } from "effect";
import type { Sampled, Version } from "../domain/Episode.ts";
import type { PolicyError } from "../domain/Errors.ts";
import type { StreamKey } from "../domain/Random.ts";
import type { StageSample } from "../flow/Gauge.ts";

/** Distribution that tokens are drawn from. Temperature 0 is greedy. */
export interface Sampling {
  readonly temperature: number;
  /** Number of likeliest ids to keep; -1 keeps all. */
  readonly topK: number;
  /** Probability mass to keep; 1 keeps all. */
  readonly topP: number;
}

/** Ids from `start` up to `end` that an earlier request sampled. */
export interface ReplySpan {
  readonly start: number;
  readonly end: number;
}

export interface GenerateRequest {
  /**
   * Key of the sequence's cache, unique in the run. Its first request opens the sequence and `release` closes it; then it may be opened
   * again.
   */
  readonly sequence: number;
  /** Ids to append to the history before sampling: the opening prompt, or the bridge after the last reply. */
  readonly append: Int32Array;
  /** Number of leading ids that many sequences share (a group's opening, a system message). It is 0 after the first request. */
  readonly sharedPrefix: number;
  /**
   * Replies inside the `append` of a first request, ascending, if it opens a sequence again with a history that was sampled before. Its cache
   * then gets the bits that it had. Absent for none.
   */
  readonly replies?: readonly ReplySpan[];
  readonly maxTokens: number;
  /** Texts that end this reply beside the run's own (`generation.stop`); absent for none. */
  readonly stop?: readonly string[];
  readonly sampling: Sampling;
  /** Stream of this reply's draws; token t uses draw t. */
  readonly key: StreamKey;
  /** Weights version that the sequence keeps until it is released (for validation); null follows the newest. */
  readonly pin: Version | null;
}

/** Counters since the generator's start, and current levels. Servers do not report all of them; unknown ones are absent. */
export interface GeneratorGauges {
  readonly version: Version;
  /** Cache rows, or places at servers: all, those with an open request (`active`), and those between requests (`idle`). */
  readonly slots: number;
  readonly active: number;
  readonly idle: number;
  readonly sampledTokens: number;
  readonly prefilledTokens?: number;
  /** Tokens fed again after an eviction, a recompute or a resume. */
  readonly refedTokens?: number;
  readonly decodeSteps?: number;
  /** Decode steps that served one of several versions that waited for one. */
  readonly splitSteps?: number;
  readonly adoptions: number;
  /** Milliseconds that an adoption takes between two steps, without waiting for a running step: the last one and the longest. */
  readonly adoptionMs: { readonly last: number; readonly max: number };
  /** The threads as one gauge: busy in steps, starved without work. Its queue is requests without a cache row, its items are replies. */
  readonly threads?: StageSample;
}

/** Gauges of generator threads, which report all of them. */
export interface ThreadGauges extends GeneratorGauges {
  readonly prefilledTokens: number;
  readonly refedTokens: number;
  readonly decodeSteps: number;
  readonly splitSteps: number;
  readonly threads: StageSample;
}

export class Policy extends Context.Service<
  Policy,
  {
    readonly generate: (request: GenerateRequest) => Effect.Effect<Sampled, PolicyError>;
    /** Frees the sequence's slot. Calling it twice, or on interruption, is safe. */
    readonly release: (sequence: number) => Effect.Effect<void>;
    /** Newest version adopted by every generator thread. */
    readonly version: Effect.Effect<Version, PolicyError>;
    /** Suspends until every generator thread samples with at least this version. */
    readonly awaitVersion: (version: Version) => Effect.Effect<void, PolicyError>;
    /** Keeps the newest version that every thread has, until the scope closes. Requests can pin it meanwhile. */
    readonly hold: Effect.Effect<Version, PolicyError, Scope.Scope>;
    readonly gauges: Effect.Effect<GeneratorGauges, PolicyError>;
  }
>()("millrace/policy/Policy") {}
