/**
 * The HTTP client for external servers, remote environments and chat endpoints. A request bounds the body it takes and may bound
 * its time; interruption aborts it at once. The transport is Node's `fetch`, which gives up on a server that is silent for 300 s.
 */
import { Cause, Duration, Effect, Exit, Option, Schema, Stream } from "effect";
import * as HttpClientRequest from "effect/http/HttpClientRequest";
import { type Failure, type Response, scopedClient, unredirected, untraced } from "./fetchClient.ts";

export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body, sent as JSON. */
  readonly json?: unknown;
  /** The body as raw bytes, in place of JSON. */
  readonly bytes?: { readonly type: string; readonly data: Uint8Array };
  /** The longest body of a reply, bytes. */
  readonly maxBytes: number;
  /** Milliseconds until the whole body must be there; unlimited if absent. */
  readonly timeoutMs?: number;
  /** Returns a redirection as the reply and does not follow it: the headers may hold a secret. */
  readonly noRedirect?: true;
}

export interface HttpReply {
  readonly status: number;
  /** Headers by their names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Null if it is longer than `maxBytes`; the rest is not read. */
  readonly body: string | null;
}

/** A reply with the raw bytes of its body. */
export interface HttpBytesReply extends Omit<HttpReply, "body"> {
  /** Null if it is longer than `maxBytes`; the rest is not read. */
  readonly body: Uint8Array | null;
}

/** A request without a reply. `message` gives the reason, without a full stop. */
export class HttpFailure extends Schema.TaggedError<HttpFailure>()("HttpFailure", {
  reason: Schema.Literals([
    "unreachable", // No status arrived.
    "disconnected", // The connection broke within the body.
    "timeout",
  ]),
  message: Schema.String,
  /** True if no connection was made, so that the server has not seen the request. */
  unsent: Schema.optionalKey(Schema.Literal(true)),
}) {}

const sentences: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection is refused",
  ENOTFOUND: "there is no such host",
};

/** The innermost cause of a failed transport; the outer ones carry no details. */
const innermost = (cause: unknown): unknown => {
  let error = cause;
  while (error instanceof Error && error.cause instanceof Error) error = error.cause;
  return error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
};

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "");

const networkReason = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const code = codeOf(error);
  return sentences[code] ?? (error.message || code || error.name);
};

/** Error codes of attempts that never reached a server. */
const neverConnected: readonly string[] = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];

const failure = (reason: HttpFailure["reason"], { reason: { cause, message } }: Failure): HttpFailure => {
  if (cause === undefined) return new HttpFailure({ reason, message });
  const error = innermost(cause);
  const unsent = neverConnected.includes(codeOf(error)) ? { unsent: true as const } : {};
  return new HttpFailure({ reason, message: networkReason(error), ...unsent });
};

const joined = (chunks: readonly Uint8Array[], length: number): Uint8Array => {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
};

/** The body; null if it is longer than `mostBytes`. */
const bytesWithin = (response: Response, mostBytes: number): Effect.Effect<Uint8Array | null, Failure> =>
  Effect.suspend(() => {
    const chunks: Uint8Array[] = [];
    let length = 0;
    return response.stream.pipe(
      Stream.takeWhile((chunk) => {
        length += chunk.byteLength;
        return length <= mostBytes;
      }),
      Stream.runForEach((chunk) => Effect.sync(() => chunks.push(chunk))),
      Effect.catchIf(
        ({ reason }) => reason._tag === "EmptyBodyError",
        () => Effect.void,
      ),
      Effect.map(() => (length > mostBytes ? null : joined(chunks, length))),
    );
  });

const requestOf = ({ bytes, headers = {}, json, method, url }: HttpRequest): HttpClientRequest.HttpClientRequest => {
  const bare = HttpClientRequest.make(method)(url, { headers });
  if (bytes !== undefined) return HttpClientRequest.bodyUint8Array(bare, bytes.data, bytes.type);
  return json === undefined ? bare : HttpClientRequest.bodyText(bare, JSON.stringify(json), "application/json");
};

/** Sends a request and reads its reply, whatever the status. */
export const send = (request: HttpRequest): Effect.Effect<HttpReply, HttpFailure> =>
  Effect.map(sendForBytes(request), ({ body, ...reply }) => ({
    ...reply,
    body: body === null ? null : new TextDecoder().decode(body),
  }));

/** Sends a request and reads its reply as bytes, whatever the status. */
export const sendForBytes = (request: HttpRequest): Effect.Effect<HttpBytesReply, HttpFailure> => {
  const sent = scopedClient.execute(requestOf(request)).pipe(
    Effect.mapError((error) => failure("unreachable", error)),
    Effect.flatMap((response) =>
      bytesWithin(response, request.maxBytes).pipe(
        Effect.mapError((error) => failure("disconnected", error)),
        Effect.map((body): HttpBytesReply => ({ status: response.status, headers: response.headers, body })),
      ),
    ),
    // Closing the scope aborts the rest of the request: a body that is too long, or one that nobody waits for.
    Effect.scoped,
    // Servers of other projects have no use for our trace.
    untraced,
  );
  const { noRedirect, timeoutMs } = request;
  const reply = noRedirect === true ? unredirected(sent) : sent;
  if (timeoutMs === undefined) return reply;
  return Effect.timeoutOrElse(reply, {
    duration: Duration.millis(timeoutMs),
    orElse: () => Effect.fail(new HttpFailure({ reason: "timeout", message: `no answer after ${timeoutMs} ms` })),
  });
};

/**
 * Runs `effect` for a caller with promises. An abort of `signal` interrupts it, and the promise rejects with `aborted()`. A
 * failure rejects with the failure itself.
 */
export const asPromise = async <A, E>(
  effect: Effect.Effect<A, E>,
  signal: AbortSignal,
  aborted: () => unknown,
): Promise<A> => {
  const exit = await Effect.runPromiseExit(effect, { signal });
  if (Exit.isSuccess(exit)) return exit.value;
  const failed = Cause.findErrorOption(exit.cause);
  if (Option.isSome(failed)) throw failed.value;
  throw Cause.hasInterruptsOnly(exit.cause) ? aborted() : Cause.squash(exit.cause);
};
