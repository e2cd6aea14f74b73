/**
 * What learner and workers ask of a broker: leases that are given to one worker at a time and given again when it falls silent, results that
 * are kept until they are acknowledged, and small messages that may be lost. Bytes only. Invariant: nothing here waits without an end for a
 * broker that is away but `stored` and the next lease, which come when it is back.
 */
import type { Effect, Scope } from "effect";
import { Schema } from "effect";
import type { RetryPolicy } from "../../support/http/retry.ts";

/** The broker refuses for good: wrong credentials, no JetStream, no permission. `message` says what to do. */
export class BrokerError extends Schema.TaggedError<BrokerError>()("BrokerError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect()),
}) {}

/** How what a broken connection lost is asked for again: without an end, since the broker comes back. */
export const persistent: RetryPolicy = { firstMs: 100, longestMs: 2_000 };

/** A part of a result as it comes in; it comes again unless it is acknowledged in time. */
export interface ResultMessage {
  /** Whoever the broker let send under this name. */
  readonly worker: string;
  readonly bytes: Uint8Array;
  readonly acknowledge: Effect.Effect<void>;
}

/** The learner's side. */
export interface LearnerBroker {
  /** Leaves the newest description of the run for whoever comes. */
  readonly describe: (about: Uint8Array) => Effect.Effect<void, BrokerError>;
  readonly announce: (weights: Uint8Array) => Effect.Effect<void, BrokerError>;
  /** Stores a lease for the workers; suspends until it is stored, and gives the means to ask for it. */
  readonly offer: (work: Uint8Array, id: string) => Effect.Effect<number, BrokerError>;
  /** Whether an offer is still stored: nobody has ended it. */
  readonly has: (sequence: number) => Effect.Effect<boolean, BrokerError>;
  /** Takes an offer back, if it is there. */
  readonly withdraw: (sequence: number) => Effect.Effect<void, BrokerError>;
  /** The broker tells of parts of results from here on, and of what workers say of themselves. */
  readonly listen: (to: {
    readonly result: (message: ResultMessage) => void;
    readonly gauges: (worker: string, bytes: Uint8Array) => void;
  }) => Effect.Effect<void, BrokerError, Scope.Scope>;
  /** No lease and no result is kept any more. */
  readonly clear: Effect.Effect<void, BrokerError>;
}

/** A lease as a worker is given it. */
export interface GivenLease {
  readonly bytes: Uint8Array;
  /** How often it has been given, from 1. */
  readonly delivery: number;
  /** It is being worked on: its time begins anew. */
  readonly alive: Effect.Effect<void>;
  /** Its result is stored, or it is not to be played at all. */
  readonly end: Effect.Effect<void>;
  /** It is not played here, and may be given to another worker. */
  readonly giveBack: Effect.Effect<void>;
}

/** A worker's side. */
export interface WorkerBroker {
  /** Longest message. */
  readonly mostBytes: number;
  /** Tells every description of the run, the newest first, and every announcement of weights, from here on. */
  readonly follow: (on: {
    readonly about: (bytes: Uint8Array) => void;
    readonly weights: (bytes: Uint8Array) => void;
  }) => Effect.Effect<void, BrokerError, Scope.Scope>;
  /** Suspends until there is a lease. */
  readonly next: Effect.Effect<GivenLease, BrokerError>;
  /** Suspends until it is stored; the same `id` is stored once. */
  readonly stored: (bytes: Uint8Array, id: string) => Effect.Effect<void, BrokerError>;
  /** Says something that may be lost. */
  readonly say: (gauges: Uint8Array) => Effect.Effect<void>;
}
