/**
 * Sends HTTP requests to one generation server. Invariants: no message contains the key; every body has a limit; an answer of another
 * program is a `ServerFailure`; redirections are not followed.
 */
import { Clock, Effect, Redacted, Schema } from "effect";
import { showText } from "../../config/show.ts";
import { errorText, jsonOrUndefined, withoutKey } from "../../support/http/errorText.ts";
import { isTransient, retryAfterMs } from "../../support/http/retry.ts";
import { type HttpReply, send } from "../../support/http/send.ts";
import { type ServerFailure, serverFailure } from "./ServerFailure.ts";

export interface ChannelOptions {
  /** Address without credentials and without a slash at its end. */
  readonly url: string;
  /** Null sends no key. */
  readonly key: Redacted.Redacted | null;
  /** Timeout of a request for tokens, milliseconds. */
  readonly timeoutMs: number;
}

/** Longest answer to any request but one for tokens, bytes. */
const MOST_BYTES = 16 * 2 ** 20;
/** Timeouts of quick requests, and of loading weights; milliseconds. */
const SHORT_MS = 10_000;
const LOADING_MS = 300_000;
/** Characters of an answer that a message may quote. */
const QUOTED = 200;

export interface ChannelRequest {
  readonly method: "GET" | "POST";
  /** Path, beginning with its slash. */
  readonly path: string;
  readonly json?: unknown;
  readonly mostBytes?: number;
  /**
   * Default `short`, for requests that a healthy server answers at once. `tokens` and `loading` allow for sampling and for loading weights.
   */
  readonly timeout?: "short" | "tokens" | "loading";
}

export interface Channel {
  /** The server's address. */
  readonly name: string;
  /** Returns the reply, whatever its status. Fails as `away` if there is none. */
  readonly send: (question: ChannelRequest) => Effect.Effect<HttpReply, ServerFailure>;
  /** Returns the decoded body of a reply with status 200; other statuses are failures. */
  readonly requestDecoded: <S extends Schema.ConstraintDecoder<unknown>>(
    question: ChannelRequest,
    schema: S,
  ) => Effect.Effect<S["Type"], ServerFailure>;
  /** Fails unless the reply has status 200. */
  readonly requestOk: (question: ChannelRequest) => Effect.Effect<void, ServerFailure>;
  /** Quotes an answer in few words, without the key. */
  readonly quote: (reply: HttpReply) => string;
}

/** The failure for a status other than 200; `now` is in Unix milliseconds. */
const statusFailure = (name: string, { headers, status }: HttpReply, what: string, now: number): ServerFailure => {
  const message = `${name}: status ${status}: ${what}`;
  if (status === 401 || status === 403) return serverFailure("unfit", message);
  if (!isTransient(status)) return serverFailure("rejected", message);
  return serverFailure(status === 429 ? "busy" : "away", message, retryAfterMs(headers, now));
};

const timeouts = ({ timeoutMs }: ChannelOptions) => ({ short: SHORT_MS, tokens: timeoutMs, loading: LOADING_MS });

export const make = (options: ChannelOptions): Channel => {
  const { key, url: name } = options;
  const secret = key === null ? null : Redacted.value(key);
  const timeoutMs = timeouts(options);
  const headers: Readonly<Record<string, string>> = secret === null ? {} : { authorization: `Bearer ${secret}` };
  const quote = ({ body }: HttpReply): string => showText(withoutKey(errorText(body), secret), QUOTED);
  const sendRequest: Channel["send"] = ({ json, method, mostBytes = MOST_BYTES, timeout = "short", path }) =>
    Effect.mapError(
      send({
        method,
        url: `${name}${path}`,
        headers,
        maxBytes: mostBytes,
        timeoutMs: timeoutMs[timeout],
        noRedirect: true,
        ...(json === undefined ? {} : { json }),
      }),
      ({ message }) => serverFailure("away", `${name}: ${message}`),
    );
  const expectOk = Effect.fnUntraced(function* (request: ChannelRequest) {
    const reply = yield* sendRequest(request);
    if (reply.status !== 200) return yield* statusFailure(name, reply, quote(reply), yield* Clock.currentTimeMillis);
    return reply;
  });
  return {
    name,
    send: sendRequest,
    quote,
    requestOk: (request) => Effect.asVoid(expectOk(request)),
    requestDecoded: (request, schema) =>
      Effect.flatMap(expectOk(request), ({ body }) =>
        Effect.mapError(Schema.decodeUnknownEffect(schema)(jsonOrUndefined(body)), ({ message }) => {
          const words = showText(message.replace(/\s+/g, " "), QUOTED);
          return serverFailure("nonsense", `${name}: ${request.path} answers in another form: ${words}`);
        }),
      ),
  };
};
