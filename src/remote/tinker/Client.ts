/**
 * Performs operations (Operation.ts) on a Tinker server over HTTP, and reports the server's state. Interruption stops polling; the server
 * finishes what it has begun. Invariants: the key is in a header and in no message; every answer is decoded by a reader.
 */
import { Clock, Duration, Effect, Redacted, Result } from "effect";
import { currentInstant, monotonicMillis } from "../../domain/Instant.ts";
import type { ReportServer, ServerRole } from "../../domain/Server.ts";
import { retryAfterMs } from "../../support/http/retry.ts";
import { type HttpBytesReply, type HttpRequest, sendForBytes } from "../../support/http/send.ts";
import {
  type AttemptResult,
  type Content,
  initialState,
  type NextAction,
  nextAction,
  type OperationState,
  type ResendRule,
} from "./Operation.ts";
import { ServerHealth } from "./ServerHealth.ts";
import { TinkerError } from "./TinkerError.ts";

/** Longest answer that is accepted, bytes. */
const mostBytes = 256 * 2 ** 20;

export const PROTOBUF = "application/x-protobuf";

export interface ClientOptions {
  /** Address before /api/v1, without a slash at its end. */
  readonly url: string;
  /** Null sends no key. */
  readonly key: Redacted.Redacted | null;
  readonly role: ServerRole;
  readonly pollTimeoutMs: number;
  readonly outageMs: number;
  readonly tell: ReportServer;
}

export type RequestBody =
  | { readonly _tag: "json"; readonly value: unknown }
  | { readonly _tag: "protobuf"; readonly bytes: Uint8Array };

export interface OperationRequest<A> {
  /** Path under /api/v1. */
  readonly path: string;
  readonly body: RequestBody;
  readonly resending: ResendRule;
  /** True for operations without a future: the answer is the result. */
  readonly direct?: true;
  /** True if the result may be protobuf. */
  readonly protobuf?: true;
  /** Reads the result, or says what is wrong with it. */
  readonly read: (content: Content) => Result.Result<A, string>;
}

export interface Client {
  readonly perform: <A>(request: OperationRequest<A>) => Effect.Effect<A, TinkerError>;
  /** Reports the server as lost. */
  readonly giveUp: (why: string) => Effect.Effect<void>;
}

const decoder = new TextDecoder();

/** Python writes numbers that are not finite as words that JSON does not have. */
const parseJson = (text: string): unknown => {
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
    return { _tag: "json", value: parseJson(text) };
  } catch {
    return { _tag: "unreadable", why: `no JSON: ${JSON.stringify(text.trim().slice(0, 80))}` };
  }
};

const bodyOf = (body: RequestBody): Pick<HttpRequest, "json" | "bytes"> =>
  body._tag === "json" ? { json: body.value } : { bytes: { type: PROTOBUF, data: body.bytes } };

class OperationRunner {
  readonly #options: ClientOptions;
  readonly #health: ServerHealth;
  #operations = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#health = new ServerHealth(options.role, options.url, options.tell);
  }

  #headers(protobuf: boolean): Readonly<Record<string, string>> {
    const { key } = this.#options;
    return {
      ...(key === null ? {} : { "x-api-key": Redacted.value(key) }),
      accept: protobuf ? `${PROTOBUF}, application/json` : "application/json",
    };
  }

  /** Makes one attempt: sends the request, or polls for its result. */
  readonly #attempt = Effect.fnUntraced({ self: this }, function* <
    A,
  >(this: OperationRunner, request: OperationRequest<A>, { phase }: OperationState) {
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
      const silence: AttemptResult = {
        _tag: "silence",
        unsent: unsent === true,
        late: reason === "timeout",
        why: message,
      };
      return silence;
    }
    const reply = answered.success;
    const answer: AttemptResult = {
      _tag: "answer",
      status: reply.status,
      content: contentOf(reply),
      retryAfterMs: retryAfterMs(reply.headers, yield* Clock.currentTimeMillis),
    };
    return answer;
  });

  readonly #step = Effect.fnUntraced({ self: this }, function* <
    A,
  >(this: OperationRunner, request: OperationRequest<A>, state: OperationState, operation: number) {
    const start = yield* monotonicMillis;
    const attempt = yield* this.#attempt(request, state);
    const now = yield* currentInstant;
    const { outageMs } = this.#options;
    const rules = { resending: request.resending, direct: request.direct === true, outageMs };
    const next: NextAction = nextAction(state, attempt, rules, { now, tookMs: now.monotonic - start });
    if (next._tag === "ask") {
      const { trouble } = next.state;
      this.#health.setTrouble(operation, trouble === null ? null : { ...trouble, nextAt: now.unix + next.waitMs });
    } else if (next._tag === "done") this.#health.setTrouble(operation, null);
    return next;
  });

  #error(path: string, { message, reason }: Pick<TinkerError, "message" | "reason">): TinkerError {
    return new TinkerError({ reason, message: `${this.#options.url}: ${path}: ${message}` });
  }

  #runToResult<A>(request: OperationRequest<A>, operation: number): Effect.Effect<A, TinkerError> {
    return Effect.gen({ self: this }, function* () {
      let state = initialState;
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

  perform<A>(request: OperationRequest<A>): Effect.Effect<A, TinkerError> {
    return Effect.suspend(() => {
      const operation = this.#operations++;
      const ended = Effect.sync(() => this.#health.ended(operation));
      return Effect.ensuring(this.#runToResult(request, operation), ended);
    });
  }

  giveUp(why: string): Effect.Effect<void> {
    return Effect.map(Clock.currentTimeMillis, (now) => this.#health.lost(now, why));
  }
}

export const make = (options: ClientOptions): Client => {
  const asking = new OperationRunner(options);
  return { perform: (request) => asking.perform(request), giveUp: (why) => asking.giveUp(why) };
};
