/**
 * The HTTP client of everything that asks an external server, environments and chat endpoints, and the one place that decides how a failed
 * attempt is repeated. A request has a limit on the body it takes and may have one on its time; interruption aborts it at once. The transport is Node's `fetch`, which gives up on a server that is silent for 300 s.
 */
import { Cause, Duration, Effect, Exit, Option, Schedule, Schema, Stream } from "effect";
import * as HttpClientRequest from "effect/http/HttpClientRequest";
import { type Failure, type Response, scopedClient, unredirected, untraced } from "../http/fetchClient.ts";

export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Longest body taken, bytes. */
  readonly mostBytes: number;
  /** Longest time until the whole body is there, milliseconds; without it there is no limit here. */
  readonly timeoutMs?: number;
  /** A redirection is the reply and is not followed: the headers may hold a secret. */
  readonly stays?: true;
}

export interface HttpReply {
  readonly status: number;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Null where it is longer than `mostBytes`; the rest is not read. */
  readonly body: string | null;
}

/** A request without a reply. `message` says why in words, without a full stop. */
export class HttpFailure extends Schema.TaggedError<HttpFailure>()("HttpFailure", {
  reason: Schema.Literals([
    "unreachable", // no status came
    "disconnected", // the connection broke within the body
    "timeout",
  ]),
  message: Schema.String,
}) {}

const sentences: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection is refused",
  ENOTFOUND: "there is no such host",
};

/** Why a transport failed, in words: the innermost cause says what happened, the outer ones only that it did. */
const networkReason = (cause: unknown): string => {
  let error = cause;
  while (error instanceof Error && error.cause instanceof Error) error = error.cause;
  if (error instanceof AggregateError && error.errors[0] instanceof Error) error = error.errors[0];
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  return sentences[code] ?? (error.message || code || error.name);
};

const failure = (reason: HttpFailure["reason"], { reason: { cause, message } }: Failure): HttpFailure =>
  new HttpFailure({ reason, message: cause === undefined ? message : networkReason(cause) });

/** The body as text; null where it is longer than `mostBytes`. */
const textWithin = (response: Response, mostBytes: number): Effect.Effect<string | null, Failure> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder();
    let text = "";
    let bytes = 0;
    return response.stream.pipe(
      Stream.takeWhile((chunk) => {
        bytes += chunk.byteLength;
        return bytes <= mostBytes;
      }),
      Stream.runForEach((chunk) =>
        Effect.sync(() => {
          text += decoder.decode(chunk, { stream: true });
        }),
      ),
      Effect.catchIf(
        ({ reason }) => reason._tag === "EmptyBodyError",
        () => Effect.void,
      ),
      Effect.map(() => (bytes > mostBytes ? null : text + decoder.decode())),
    );
  });

const requestOf = ({ headers = {}, json, method, url }: HttpRequest): HttpClientRequest.HttpClientRequest => {
  const bare = HttpClientRequest.make(method)(url, { headers });
  return json === undefined ? bare : HttpClientRequest.bodyText(bare, JSON.stringify(json), "application/json");
};

/** Sends a request and reads its reply, whatever the status. */
export const send = (request: HttpRequest): Effect.Effect<HttpReply, HttpFailure> => {
  const sent = scopedClient.execute(requestOf(request)).pipe(
    Effect.mapError((error) => failure("unreachable", error)),
    Effect.flatMap((response) =>
      textWithin(response, request.mostBytes).pipe(
        Effect.mapError((error) => failure("disconnected", error)),
        Effect.map((body): HttpReply => ({ status: response.status, headers: response.headers, body })),
      ),
    ),
    // Closing the scope aborts what is left of the request: a body that is too long, or one nobody waits for.
    Effect.scoped,
    // A server of another project has no use for our trace.
    untraced,
  );
  const { stays, timeoutMs } = request;
  const asked = stays === true ? unredirected(sent) : sent;
  if (timeoutMs === undefined) return asked;
  return Effect.timeoutOrElse(asked, {
    duration: Duration.millis(timeoutMs),
    orElse: () => Effect.fail(new HttpFailure({ reason: "timeout", message: `no answer after ${timeoutMs} ms` })),
  });
};

/** How long to wait before the next attempt, milliseconds: `firstMs`, doubled each time, at most `longestMs`. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** The wait before repetition `nth`, counted from 0. */
export const waitMs = ({ firstMs, longestMs }: Backoff, nth: number): number => Math.min(longestMs, firstMs * 2 ** nth);

/** `waitMs` as a schedule. `vary` turns each wait into the one that is taken; without it the schedule has no jitter. */
export const schedule = (backoff: Backoff, vary: (ms: number) => number = (ms) => ms) =>
  Schedule.forever.pipe(
    Schedule.modifyDelay(({ attempt }) => Effect.sync(() => Duration.millis(vary(waitMs(backoff, attempt - 1))))),
  );

/**
 * Runs `effect` for a caller that has promises. Aborting `signal` interrupts it; the promise then rejects with `aborted()`. A failure
 * rejects with the failure itself.
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
