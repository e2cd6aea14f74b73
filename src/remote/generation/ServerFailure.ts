/**
 * The reason for which a generation server did not do what it was asked. The reaction depends on the reason alone. Invariant: a message
 * names the server without credentials, and quotes at most a few words of its answer.
 */
import { Schema } from "effect";

export class ServerFailure extends Schema.TaggedError<ServerFailure>()("ServerFailure", {
  reason: Schema.Literals([
    "away", // it does not answer, or is broken: it may be gone
    "busy", // it accepts no more requests for now
    "forgotten", // it has other weights than it was given: it restarted, or another client changed them
    "interrupted", // it ended the request early, and is well
    "nonsense", // its answer does not have the documented form
    "not_finite", // its log-probabilities are not finite
    "rejected", // it will never accept this request
    "unfit", // the run cannot use it; the message says what to change
  ]),
  message: Schema.String,
  /** Pause that the server asks for, milliseconds. */
  waitMs: Schema.NullOr(Schema.Number),
}) {}

export type FailureReason = ServerFailure["reason"];

export const serverFailure = (reason: FailureReason, message: string, waitMs: number | null = null): ServerFailure =>
  new ServerFailure({ reason, message, waitMs });
