/**
 * Why an environment elsewhere did not answer as it should. `reset` and `step` of a remote environment reject with it, which costs one
 * group or one episode. `message` is a sentence that names the address.
 */
import { Schema } from "effect";

export class RemoteError extends Schema.TaggedError<RemoteError>()("RemoteError", {
  reason: Schema.Literals([
    "unreachable", // no connection came about
    "capacity", // the server has no session left
    "timeout", // no answer in time
    "disconnected", // the server went away after the connection stood
    "nonsense", // not the protocol: no JSON, wrong shape, an answer nobody asked for
    "invalid", // the server understood and does not take the action; its session goes on
    "refused", // the server reports an error of its own
    "limit", // a session sent more than it may
    "nondeterministic", // the same seed gave another first observation
    "session", // the state's session is gone, or has moved on
    "aborted", // nobody waits for the answer any more
  ]),
  message: Schema.String,
}) {}

/** Reasons for which opening a session may be tried again: nothing has been played yet. */
export const repeatable = ({ reason }: RemoteError): boolean =>
  reason === "unreachable" || reason === "capacity" || reason === "timeout" || reason === "disconnected";
