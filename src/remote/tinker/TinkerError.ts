/** Why an operation of a Tinker server came to nothing. */
import { Schema } from "effect";

const reasons = [
  "outage", // it did not answer, or refused for now, for longer than we ask again
  "uncertain", // it may have counted the request, and would count it twice if it were sent again
  "rejected", // it does not do what was asked: the request is wrong, or beyond it
  "failed", // it tried, and failed
  "unauthorised", // the key
  "gone", // it knows no such model, session or future
  "conflict", // what was asked for contradicts its state: older weights, or a number used twice
  "nonsense", // its answer is not one
] as const;

export interface Failure {
  readonly reason: (typeof reasons)[number];
  /** In words, without a full stop. */
  readonly message: string;
}

export class TinkerError extends Schema.TaggedError<TinkerError>()("TinkerError", {
  reason: Schema.Literals(reasons),
  message: Schema.String,
}) {}
