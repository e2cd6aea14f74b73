/**
 * Asks one generation server over HTTP. Invariants: the key is in no message; every body has a limit; what is not an answer of the server's
 * program is a `ServerFailure`; a redirection is never followed.
 */
import { Clock, Effect, Redacted, Schema } from "effect";
import { showText } from "../../config/show.ts";
import { errorText, jsonOrUndefined, withoutKey } from "../../support/http/errorText.ts";
import { isTransient, retryAfterMs } from "../../support/http/retry.ts";
import { type HttpReply, send } from "../../support/http/send.ts";
import { failed, type ServerFailure } from "./ServerFailure.ts";

export interface ChannelOptions {
  /** Without a slash at its end, and without credentials. */
  readonly url: string;
  /** Null sends none. */
  readonly key: Redacted.Redacted | null;
  /** Of a request for tokens, milliseconds. */
  readonly timeoutMs: number;
}

/** Longest answer to anything but a request for tokens. */
const MOST_BYTES = 16 * 2 ** 20;
/** Longest time for what a server answers at once when it is well, and for loading weights, milliseconds. */
const SHORT_MS = 10_000;
const LOADING_MS = 300_000;
/** Characters of an answer in a message. */
const QUOTED = 200;

export interface Question {
  readonly method: "GET" | "POST";
  /** From the slash on. */
  readonly path: string;
  readonly json?: unknown;
  readonly mostBytes?: number;
  /** How long it may take: what a healthy server answers at once, a request for tokens, or loading weights. */
  readonly pace?: "short" | "tokens" | "loading";
}

export interface Channel {
  /** Its address. */
  readonly name: string;
  /** The reply whatever its status; fails as `away` without one. */
  readonly ask: (question: Question) => Effect.Effect<HttpReply, ServerFailure>;
  /** The decoded body of a reply with status 200; other statuses are failures by `ofStatus`. */
  readonly get: <S extends Schema.ConstraintDecoder<unknown>>(
    question: Question,
    schema: S,
  ) => Effect.Effect<S["Type"], ServerFailure>;
  /** A reply with status 200 whose body does not matter. */
  readonly tell: (question: Question) => Effect.Effect<void, ServerFailure>;
  /** What an answer says, in few words and without the key. */
  readonly quoted: (reply: HttpReply) => string;
}

/** The failure that a status other than 200 is. `now` in Unix milliseconds. */
const ofStatus = (name: string, { headers, status }: HttpReply, what: string, now: number): ServerFailure => {
  const message = `${name}: status ${status}: ${what}`;
  if (status === 401 || status === 403) return failed("unfit", message);
  if (!isTransient(status)) return failed("rejected", message);
  return failed(status === 429 ? "busy" : "away", message, retryAfterMs(headers, now));
};

const timeouts = ({ timeoutMs }: ChannelOptions) => ({ short: SHORT_MS, tokens: timeoutMs, loading: LOADING_MS });

export const make = (options: ChannelOptions): Channel => {
  const { key, url: name } = options;
  const secret = key === null ? null : Redacted.value(key);
  const paces = timeouts(options);
  const headers: Readonly<Record<string, string>> = secret === null ? {} : { authorization: `Bearer ${secret}` };
  const quoted = ({ body }: HttpReply): string => showText(withoutKey(errorText(body), secret), QUOTED);
  const ask: Channel["ask"] = ({ json, method, mostBytes = MOST_BYTES, pace = "short", path }) =>
    Effect.mapError(
      send({
        method,
        url: `${name}${path}`,
        headers,
        maxBytes: mostBytes,
        timeoutMs: paces[pace],
        noRedirect: true,
        ...(json === undefined ? {} : { json }),
      }),
      ({ message }) => failed("away", `${name}: ${message}`),
    );
  const answered = Effect.fnUntraced(function* (question: Question) {
    const reply = yield* ask(question);
    if (reply.status !== 200) return yield* ofStatus(name, reply, quoted(reply), yield* Clock.currentTimeMillis);
    return reply;
  });
  return {
    name,
    ask,
    quoted,
    tell: (question) => Effect.asVoid(answered(question)),
    get: (question, schema) =>
      Effect.flatMap(answered(question), ({ body }) =>
        Effect.mapError(Schema.decodeUnknownEffect(schema)(jsonOrUndefined(body)), ({ message }) => {
          const words = showText(message.replace(/\s+/g, " "), QUOTED);
          return failed("nonsense", `${name}: ${question.path} answers in another form: ${words}`);
        }),
      ),
  };
};
