/**
 * The policy as the rollout sees it: ids in, sampled ids out. A sequence is one chat of an episode as it grows; its caches stay in the
 * generator between turns. Generation handles ids only. Invariant: what is sampled for a request depends on (weights, history,
 * stream key), never on which other sequences share its batch.
 */
import { Context, type Effect, type Scope } from "effect";
import type { Sampled, Version } from "../domain/Episode.ts";
import type { PolicyError } from "../domain/Errors.ts";
import type { StreamKey } from "../domain/Random.ts";
import type { StageSample } from "../flow/Gauge.ts";

/** How tokens are drawn. Temperature 0 is greedy. */
export interface Sampling {
  readonly temperature: number;
  /** -1 keeps all. */
  readonly topK: number;
  /** 1 keeps all. */
  readonly topP: number;
}

export interface GenerateRequest {
  /** Unique in the run; the cache's key. The first request of an id opens the sequence, `release` closes it; then it may be opened again. */
  readonly sequence: number;
  /** Ids to append to the sequence's history before sampling (opening prompt, or bridge after the last reply). */
  readonly append: Int32Array;
  /** The first `sharedPrefix` ids of an opening are common to many sequences (a group's opening, a system message); 0 afterwards. */
  readonly sharedPrefix: number;
  readonly maxTokens: number;
  readonly sampling: Sampling;
  /** Stream of this reply's draws; token t uses draw t. */
  readonly key: StreamKey;
  /** Hold this weights version until the sequence is released (validation); null follows the newest. */
  readonly pin: Version | null;
}

/** Counters of the generator since its start, and levels now. What it does not know is absent: servers do not tell all of it. */
export interface GeneratorGauges {
  readonly version: Version;
  /** Cache rows or places at servers, those of sequences with an open request, and those of sequences between requests. */
  readonly slots: number;
  readonly active: number;
  readonly idle: number;
  readonly sampledTokens: number;
  readonly prefilledTokens?: number;
  /** Tokens fed again after an eviction or a recompute. */
  readonly refilledTokens?: number;
  readonly decodeSteps?: number;
  readonly adoptions: number;
  /** Milliseconds that taking new weights in costs between two steps (the end of a running step not counted); last and worst. */
  readonly adoptionMs: { readonly last: number; readonly max: number };
  /** The threads as one gauge: busy in steps, starved without work; its queue is requests without a cache row, its items are replies. */
  readonly threads?: StageSample;
}

/** What generator threads know of themselves: all of it. */
export interface ThreadGauges extends GeneratorGauges {
  readonly prefilledTokens: number;
  readonly refilledTokens: number;
  readonly decodeSteps: number;
  readonly threads: StageSample;
}

export class Policy extends Context.Service<
  Policy,
  {
    readonly generate: (request: GenerateRequest) => Effect.Effect<Sampled, PolicyError>;
    /** Frees the sequence's slot; safe to call twice, and on interruption. */
    readonly release: (sequence: number) => Effect.Effect<void>;
    /** Newest version adopted by every generator thread. */
    readonly version: Effect.Effect<Version, PolicyError>;
    /** Suspends until every generator thread samples with at least this version. */
    readonly awaitVersion: (version: Version) => Effect.Effect<void, PolicyError>;
    /** Keeps the newest version that every thread has for the scope's life: requests pinned to it find it. */
    readonly hold: Effect.Effect<Version, PolicyError, Scope.Scope>;
    readonly gauges: Effect.Effect<GeneratorGauges, PolicyError>;
  }
>()("millrace/policy/Policy") {}
