/**
 * Asks a Tinker server: carries out operations (Operation.ts) over HTTP and tells how the server does. Interruption stops asking; what the server
 * has begun goes on there. Invariants: the key is in a header and in no message; an answer is read only through a decoder.
 */
import { Clock, Duration, Effect, Redacted, Result } from "effect";
import { currentInstant, monotonicMillis } from "../../domain/Instant.ts";
import type { ServerRole, TellServer } from "../../domain/Server.ts";
import { retryAfterMs } from "../../support/http/retry.ts";
import { type HttpBytesReply, type HttpRequest, sendForBytes } from "../../support/http/send.ts";
import { Health } from "./Health.ts";
import { begun, type Content, type Heard, heard, type Next, type Resending, type State } from "./Operation.ts";
import { TinkerError } from "./TinkerError.ts";

/** Longest answer that is taken. */
const mostBytes = 256 * 2 ** 20;

export const PROTOBUF = "application/x-protobuf";

export interface ClientOptions {
  /** Before /api/v1, without a slash at its end. */
  readonly url: string;
  /** Null sends none. */
  readonly key: Redacted.Redacted | null;
  readonly role: ServerRole;
  readonly pollTimeoutMs: number;
  readonly outageMs: number;
  readonly tell: TellServer;
}

export type Body =
  | { readonly _tag: "json"; readonly value: unknown }
  | { readonly _tag: "protobuf"; readonly bytes: Uint8Array };

export interface Request<A> {
  /** Path under /api/v1. */
  readonly path: string;
  readonly body: Body;
  readonly resending: Resending;
  /** The answer is the result, as of operations that take no time. */
  readonly direct?: true;
  /** The result may come as protobuf. */
  readonly protobuf?: true;
  /** What the result says, or what is wrong with it. */
  readonly read: (content: Content) => Result.Result<A, string>;
}

export interface Client {
  readonly ask: <A>(request: Request<A>) => Effect.Effect<A, TinkerError>;
  /** The server is given up. */
  readonly lost: (why: string) => Effect.Effect<void>;
}

const decoder = new TextDecoder();

/** Python writes numbers that are not finite as words that JSON does not have. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return JSON.parse(text.replaceAll(/(?<=[[,:]\s*)(NaN|-?Infinity)(?=\s*[\],}])/g, "null"));
  }
};

const contentOf = ({ body, headers }: HttpBytesReply): Content => {
  if (body === null) return { _tag: "unreadable", why: `the answer is longer than ${mostBytes} bytes` };
  if (headers["content-type"]?.includes(PROTOBUF) === true) return { _tag: "protobuf", bytes: body };
  const text = decoder.decode(body);
  try {
    return { _tag: "json", value: parsed(text) };
  } catch {
    return { _tag: "unreadable", why: `no JSON: ${JSON.stringify(text.trim().slice(0, 80))}` };
  }
};

const bodyOf = (body: Body): Pick<HttpRequest, "json" | "bytes"> =>
  body._tag === "json" ? { json: body.value } : { bytes: { type: PROTOBUF, data: body.bytes } };

class Asking {
  readonly #options: ClientOptions;
  readonly #health: Health;
  #operations = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#health = new Health(options.role, options.url, options.tell);
  }

  #headers(protobuf: boolean): Readonly<Record<string, string>> {
    const { key } = this.#options;
    return {
      ...(key === null ? {} : { "x-api-key": Redacted.value(key) }),
      accept: protobuf ? `${PROTOBUF}, application/json` : "application/json",
    };
  }

  /** One attempt: the request, or the question for its result. */
  readonly #attempt = Effect.fnUntraced({ self: this }, function* <
    A,
  >(this: Asking, request: Request<A>, { phase }: State) {
    const { pollTimeoutMs, url } = this.#options;
    const submits = phase._tag === "submit";
    const answered = yield* Effect.result(
      sendForBytes({
        method: "POST",
        url: `${url}/api/v1/${submits ? request.path : "retrieve_future"}`,
        headers: this.#headers(request.protobuf === true && !submits),
        ...(submits ? bodyOf(request.body) : { json: { request_id: phase.id } }),
        maxBytes: mostBytes,
        timeoutMs: pollTimeoutMs,
        noRedirect: true,
      }),
    );
    if (Result.isFailure(answered)) {
      const { message, reason, unsent } = answered.failure;
      const silence: Heard = { _tag: "silence", unsent: unsent === true, late: reason === "timeout", why: message };
      return silence;
    }
    const reply = answered.success;
    const answer: Heard = {
      _tag: "answer",
      status: reply.status,
      content: contentOf(reply),
      retryAfterMs: retryAfterMs(reply.headers, yield* Clock.currentTimeMillis),
    };
    return answer;
  });

  readonly #step = Effect.fnUntraced({ self: this }, function* <
    A,
  >(this: Asking, request: Request<A>, state: State, operation: number) {
    const start = yield* monotonicMillis;
    const what = yield* this.#attempt(request, state);
    const now = yield* currentInstant;
    const { outageMs } = this.#options;
    const rules = { resending: request.resending, direct: request.direct === true, outageMs };
    const next: Next = heard(state, what, rules, { now, tookMs: now.monotonic - start });
    if (next._tag === "ask") {
      const { trouble } = next.state;
      this.#health.is(operation, trouble === null ? null : { ...trouble, nextAt: now.unix + next.waitMs });
    } else if (next._tag === "done") this.#health.is(operation, null);
    return next;
  });

  #error(path: string, { message, reason }: Pick<TinkerError, "message" | "reason">): TinkerError {
    return new TinkerError({ reason, message: `${this.#options.url}: ${path}: ${message}` });
  }

  #carryOut<A>(request: Request<A>, operation: number): Effect.Effect<A, TinkerError> {
    return Effect.gen({ self: this }, function* () {
      let state = begun;
      for (;;) {
        const next = yield* this.#step(request, state, operation);
        if (next._tag === "failed") return yield* this.#error(request.path, next.failure);
        if (next._tag === "ask") {
          state = next.state;
          if (next.waitMs > 0) yield* Effect.sleep(Duration.millis(next.waitMs));
          continue;
        }
        const read = request.read(next.content);
        if (Result.isSuccess(read)) return read.success;
        return yield* this.#error(request.path, { reason: "nonsense", message: read.failure });
      }
    });
  }

  ask<A>(request: Request<A>): Effect.Effect<A, TinkerError> {
    return Effect.suspend(() => {
      const operation = this.#operations++;
      const ended = Effect.sync(() => this.#health.ended(operation));
      return Effect.ensuring(this.#carryOut(request, operation), ended);
    });
  }

  lost(why: string): Effect.Effect<void> {
    return Effect.map(Clock.currentTimeMillis, (now) => this.#health.lost(now, why));
  }
}

export const make = (options: ClientOptions): Client => {
  const asking = new Asking(options);
  return { ask: (request) => asking.ask(request), lost: (why) => asking.lost(why) };
};
