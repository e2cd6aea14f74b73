/** The reason for which an operation of a Tinker server failed. */
import { Schema } from "effect";

const reasons = [
  "outage", // it did not answer, or refused, for longer than `outage_ms`
  "uncertain", // it may have counted the request, and would count a repeated one again
  "rejected", // the request is wrong, or the server cannot do it
  "failed", // the server tried and failed
  "unauthorised", // it refuses the key
  "gone", // it has no such model, session or future
  "conflict", // the request contradicts its state: older weights, or a number used twice
  "nonsense", // its answer does not have the documented form
] as const;

export interface Failure {
  readonly reason: (typeof reasons)[number];
  /** Message without a full stop. */
  readonly message: string;
}

export class TinkerError extends Schema.TaggedError<TinkerError>()("TinkerError", {
  reason: Schema.Literals(reasons),
  message: Schema.String,
}) {}
