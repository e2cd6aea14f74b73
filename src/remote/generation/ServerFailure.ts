/**
 * Why a generation server did not do what it was asked, one class for all kinds of servers. What is done about it depends on the reason alone:
 * the fleet decides. Invariant: a message names the server without credentials, and quotes at most a few words of its answer.
 */
import { Schema } from "effect";

export class ServerFailure extends Schema.TaggedError<ServerFailure>()("ServerFailure", {
  reason: Schema.Literals([
    "away", // no answer, or one that says that it is broken: it may be gone
    "busy", // it takes no more for now
    "forgotten", // it has other weights than it was given: it was started again, or someone else gave it some
    "interrupted", // it ended the request before its end, and is well
    "nonsense", // its answer is not of the documented form
    "not_finite", // its log-probabilities are no numbers
    "rejected", // it will never take this request
    "unfit", // the run cannot use it: what to change is in the message
  ]),
  message: Schema.String,
  /** How long it asks to be left alone, milliseconds. */
  waitMs: Schema.NullOr(Schema.Number),
}) {}

export type Reason = ServerFailure["reason"];

export const failed = (reason: Reason, message: string, waitMs: number | null = null): ServerFailure =>
  new ServerFailure({ reason, message, waitMs });
