/**
 * The interface of a broker between a learner and its workers. It delivers each lease to one worker at a time and, when that worker falls
 * silent, to another; it keeps results until they are acknowledged. Only `store` and `nextLease` wait without an end for a broker that is
 * away.
 */
import type { Effect, Scope } from "effect";
import { Schema } from "effect";
import type { RetryPolicy } from "../../support/http/retry.ts";

/** The broker refuses for good: wrong credentials, no JetStream, no permission. The message says what to do. */
export class BrokerError extends Schema.TaggedError<BrokerError>()("BrokerError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect()),
}) {}

/** Requests that a broken connection lost are repeated without an end, since the broker comes back. */
export const reconnectPolicy: RetryPolicy = { firstMs: 100, longestMs: 2_000 };

/** A part of a result. The broker sends it again unless it is acknowledged in time. */
export interface ResultMessage {
  /** The sender's name, by the broker's permissions. */
  readonly worker: string;
  readonly bytes: Uint8Array;
  readonly acknowledge: Effect.Effect<void>;
}

/** The learner's side of a broker. */
export interface LearnerBroker {
  /** Replaces the run's description, which every new worker reads. */
  readonly describe: (about: Uint8Array) => Effect.Effect<void, BrokerError>;
  readonly announce: (weights: Uint8Array) => Effect.Effect<void, BrokerError>;
  /** Stores a lease for the workers. Returns the number of the stored message. */
  readonly offer: (work: Uint8Array, id: string) => Effect.Effect<number, BrokerError>;
  /** True while the offer is stored and no worker has ended it. */
  readonly has: (messageNumber: number) => Effect.Effect<boolean, BrokerError>;
  /** Removes an offer, if it is still stored. */
  readonly withdraw: (messageNumber: number) => Effect.Effect<void, BrokerError>;
  /** Receives parts of results and workers' gauges, for the scope. */
  readonly listen: (to: {
    readonly result: (message: ResultMessage) => void;
    readonly gauges: (worker: string, bytes: Uint8Array) => void;
  }) => Effect.Effect<void, BrokerError, Scope.Scope>;
  /** Removes all leases and results. */
  readonly clear: Effect.Effect<void, BrokerError>;
}

/** A lease in the hands of a worker. */
export interface DeliveredLease {
  readonly bytes: Uint8Array;
  /** Deliveries of the lease, this one included, from 1. */
  readonly delivery: number;
  /** Restarts the lease's time. */
  readonly keepAlive: Effect.Effect<void>;
  /** Ends the lease: its result is stored, or nobody needs it. */
  readonly end: Effect.Effect<void>;
  /** Returns the lease unplayed; the broker may deliver it to another worker. */
  readonly giveBack: Effect.Effect<void>;
}

/** A worker's side of a broker. */
export interface WorkerBroker {
  /** Longest message, bytes. */
  readonly mostBytes: number;
  /** Receives descriptions of the run and announcements of weights, the newest first, for the scope. */
  readonly follow: (on: {
    readonly about: (bytes: Uint8Array) => void;
    readonly weights: (bytes: Uint8Array) => void;
  }) => Effect.Effect<void, BrokerError, Scope.Scope>;
  readonly nextLease: Effect.Effect<DeliveredLease, BrokerError>;
  /** Suspends until the message is stored. The broker stores the same `id` once. */
  readonly store: (bytes: Uint8Array, id: string) => Effect.Effect<void, BrokerError>;
  /** Sends a report, which may be lost. */
  readonly sendGauges: (gauges: Uint8Array) => Effect.Effect<void>;
}
