/**
 * One session with an OpenEnv server, over either transport: each request is answered by one payload or rejected with a `RemoteError`. A
 * channel takes one request at a time; after a failure other than `invalid` it takes no more; `close` never rejects. Also here: what both
 * transports need to read messages.
 */
import { Result, Schema } from "effect";
import type { JsonObject } from "./Protocol.ts";
import { Payload } from "./Protocol.ts";
import { RemoteError } from "./RemoteError.ts";

export type Request =
  | { readonly _tag: "Reset"; readonly data: JsonObject }
  | { readonly _tag: "Step"; readonly action: JsonObject };

export interface Channel {
  readonly ask: (request: Request, signal: AbortSignal) => Promise<Payload>;
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

/** The decoded message. Throws a `RemoteError` that says where the message does not fit. */
export const decoded = <A>(result: Result.Result<A, Schema.SchemaError>, text: string, from: string): A => {
  if (Result.isSuccess(result)) return result.success;
  const problem = result.failure.message.replaceAll(/\s+/g, " ");
  throw new RemoteError({
    reason: "nonsense",
    message: `${from} sent what is no message of OpenEnv (${problem}): ${excerpt(text)}`,
  });
};

/** An error that a server reports, as ours; `invalid` where the server rejects the action and its session goes on. */
export const serverError = (from: string, code: string, said: string): RemoteError => {
  const message = `${from} answered ${code}: ${said}`;
  if (code === "CAPACITY_REACHED") return new RemoteError({ reason: "capacity", message });
  if (code === "VALIDATION_ERROR") return new RemoteError({ reason: "invalid", message });
  return new RemoteError({ reason: "refused", message });
};

export const decodePayload = Schema.decodeUnknownResult(Payload);

/** Counts what a session has received. The function it gives throws a `RemoteError` once a limit is passed. */
export const makeMeter = (
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
