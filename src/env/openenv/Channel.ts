/**
 * One session with an OpenEnv server, over either transport, and the functions by which both transports read messages. Invariants: each request is
 * answered by one payload or rejected with a `RemoteError`; a channel takes one request at a time, and none after a failure other than
 * `invalid`; `close` never rejects.
 */
import { Result, Schema } from "effect";
import type { JsonObject } from "./Protocol.ts";
import { Payload } from "./Protocol.ts";
import { RemoteError } from "./RemoteError.ts";

export type ChannelRequest =
  | { readonly _tag: "Reset"; readonly data: JsonObject }
  | { readonly _tag: "Step"; readonly action: JsonObject };

export interface Channel {
  readonly request: (request: ChannelRequest, signal: AbortSignal) => Promise<Payload>;
  readonly close: () => Promise<void>;
}

const shownLength = 80;

/** The beginning of a text, quoted, for an error message. */
export const excerpt = (text: string): string =>
  JSON.stringify(text.length > shownLength ? `${text.slice(0, shownLength)}...` : text);

export const parseJson = (text: string, from: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new RemoteError({ reason: "nonsense", message: `${from} sent what is no JSON: ${excerpt(text)}` });
  }
};

/** The decoded message. It throws a `RemoteError` that names the part of the message that does not fit. */
export const decodeOrThrow = <A>(result: Result.Result<A, Schema.SchemaError>, text: string, from: string): A => {
  if (Result.isSuccess(result)) return result.success;
  const problem = result.failure.message.replaceAll(/\s+/g, " ");
  throw new RemoteError({
    reason: "nonsense",
    message: `${from} sent what is no message of OpenEnv (${problem}): ${excerpt(text)}`,
  });
};

/** Turns an error that a server reports into a `RemoteError`; `invalid` if the server rejects the action and its session goes on. */
export const serverError = (from: string, code: string, said: string): RemoteError => {
  const message = `${from} answered ${code}: ${said}`;
  if (code === "CAPACITY_REACHED") return new RemoteError({ reason: "capacity", message });
  if (code === "VALIDATION_ERROR") return new RemoteError({ reason: "invalid", message });
  return new RemoteError({ reason: "refused", message });
};

export const decodePayload = Schema.decodeUnknownResult(Payload);

/** Makes a function that counts the received bytes of a session, and throws a `RemoteError` once a limit is passed. */
export const makeReceiptLimit = (
  { max_session_bytes, max_session_messages }: { max_session_bytes: number; max_session_messages: number },
  from: string,
) => {
  let bytes = 0;
  let messages = 0;
  return (length: number): void => {
    bytes += length;
    messages++;
    if (bytes <= max_session_bytes && messages <= max_session_messages) return;
    throw new RemoteError({
      reason: "limit",
      message: `${from} sent ${messages} messages of ${bytes} bytes in one session; allowed are ${max_session_messages} of ${max_session_bytes}`,
    });
  };
};
