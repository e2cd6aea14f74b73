/**
 * The failure of an environment on a server. `reset` and `step` of a remote environment reject with it, which costs one group or one episode. Its
 * `message` is a sentence that names the address.
 */
import { Schema } from "effect";

export class RemoteError extends Schema.TaggedError<RemoteError>()("RemoteError", {
  reason: Schema.Literals([
    "unreachable", // no connection came about
    "capacity", // the server has no session left
    "timeout", // no answer in time
    "disconnected", // the connection broke
    "nonsense", // not the protocol: no JSON, the wrong shape, an answer without a request
    "invalid", // the server rejects the action; its session goes on
    "refused", // the server reports an error of its own
    "limit", // a session sent more than it may
    "nondeterministic", // the same seed gave another first observation
    "session", // the state's session is closed, or the state is not its last one
    "aborted", // the caller gave the request up
  ]),
  message: Schema.String,
}) {}

/** True for failures after which opening a session may be tried again, because nothing has been played yet. */
export const isRepeatable = ({ reason }: RemoteError): boolean =>
  reason === "unreachable" || reason === "capacity" || reason === "timeout" || reason === "disconnected";
