/**
 * Asks a chat endpoint: at its rates, within the budget, again where an attempt failed, and no more once too many requests in a row came to
 * nothing. Invariants: what a request may cost is reserved before it is sent; a wait that the endpoint asks for holds for all requests, and no step
 * of the wall clock changes it; the key is in no message.
 */
import { Clock, Duration, Effect, Redacted, Result } from "effect";
import type { Endpoint } from "../../config/players.ts";
import { monotonicMillis } from "../../domain/Instant.ts";
import { stream } from "../../domain/Random.ts";
import { jsonOrUndefined } from "../../support/http/errorText.ts";
import { type RetryPolicy, retry } from "../../support/http/retry.ts";
import { send } from "../../support/http/send.ts";
import { anthropic } from "./anthropic.ts";
import * as Budget from "./Budget.ts";
import {
  type ChatMessage,
  type ChatReply,
  EndpointStopped,
  type OfferedTools,
  type Protocol,
  Unanswered,
  type Usage,
} from "./Chat.ts";
import { type Failure, ofReply, ofTransport } from "./Failure.ts";
import { openai } from "./openai.ts";
import * as TokenBucket from "./TokenBucket.ts";
import { grantedOf, ignoredOf, type OpenFields, openFields, type Wishes } from "./wishes.ts";

const protocols: Readonly<Record<Endpoint["protocol"], Protocol>> = { openai, anthropic };

const openFieldsOf = (endpoint: Endpoint): OpenFields =>
  openFields(endpoint, protocols[endpoint.protocol].samplingFields);

/** The wishes that requests to an endpoint do not have, in words: `temperature 0.2`. */
export const ignoredWishes =
  (endpoint: Endpoint) =>
  (wishes: Wishes): readonly string[] =>
    ignoredOf(openFieldsOf(endpoint), wishes, endpoint.temperature);

/** Longest answer that is taken. */
const mostBytes = 16 * 2 ** 20;
/** The longest wait between two attempts, milliseconds: by our own backoff, and at the endpoint's request. */
const longestBackoffMs = 60_000;
const longestAskedMs = 600_000;

const policyOf = ({ retries, retryWaitMs }: Endpoint): RetryPolicy => ({
  firstMs: retryWaitMs,
  longestMs: longestBackoffMs,
  jitter: 0.5,
  maxRetries: retries,
});

export interface Tally {
  readonly requests: number;
  readonly retries: number;
  readonly spent: Usage;
}

/** The parts of a request that only some chats have. */
export interface CompletionOptions {
  /** Limits the reply in place of the endpoint's own limit. */
  readonly maxTokens?: number;
  readonly tools?: OfferedTools;
  /** Sampling as an agent asks for it. */
  readonly wishes?: Wishes;
}

export interface ChatClient {
  readonly complete: (
    messages: readonly ChatMessage[],
    options?: CompletionOptions,
  ) => Effect.Effect<ChatReply, Unanswered | EndpointStopped>;
  readonly tally: () => Tally;
  /** True when one more episode is expected to fit into the budget. */
  readonly admits: (progress: Budget.Progress) => boolean;
}

export interface ClientOptions {
  /** Null sends none. */
  readonly key: Redacted.Redacted | null;
  /** Usage of the evaluation's earlier sessions. */
  readonly before: Usage;
  /** Seeds the jitter of waits between attempts. */
  readonly seed: number;
  /** Hears now and then why attempts fail. */
  readonly warn?: (message: string) => Effect.Effect<void>;
}

/** A request, before it is one of a protocol. */
interface CompletionRequest extends CompletionOptions {
  readonly messages: readonly ChatMessage[];
  readonly maxTokens: number;
}

/** Adds further fields, with the reply's limit under the name that the endpoint uses. */
const limited = (extra: Endpoint["extraFields"], maxTokens: number): Endpoint["extraFields"] =>
  "max_completion_tokens" in extra ? { ...extra, max_completion_tokens: maxTokens } : extra;

/** Least time between two warnings. */
const warningMs = 10_000;

/** The reply to a chat that a filter has kept back. */
const withheld: ChatReply = { text: "", finish: "filtered", usage: null };

/** Characters of tools and tool calls as JSON; none of what is absent. */
const written = (value: readonly unknown[] | undefined): number =>
  value === undefined || value.length === 0 ? 0 : JSON.stringify(value).length;

const charactersOf = ({ messages, tools }: CompletionRequest): number =>
  messages.reduce(
    (sum, message) => sum + message.content.length + ("calls" in message ? written(message.calls) : 0),
    written(tools?.list),
  );

/** Sends requests, which share one budget, its rate limits and the count of failures. */
class Requests {
  readonly #endpoint: Endpoint;
  readonly #options: ClientOptions;
  readonly #protocol: Protocol;
  readonly #openFields: OpenFields;
  #account: Budget.Account;
  #requests: TokenBucket.TokenBucket;
  #tokens: TokenBucket.TokenBucket;
  /** No request is sent before this time of the monotonic clock, milliseconds. */
  #notBefore = Number.NEGATIVE_INFINITY;
  /** Prompts whose tokens were counted. */
  #seen = { characters: 0, tokens: 0 };
  #sent = 0;
  #retries = 0;
  #calls = 0;
  #failed = 0;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #stopped: EndpointStopped | null = null;
  /** True once a request was refused for its cost. Smaller ones may still be sent. */
  #spent = false;

  constructor(endpoint: Endpoint, options: ClientOptions, now: number) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#protocol = protocols[endpoint.protocol];
    this.#openFields = openFieldsOf(endpoint);
    this.#account = { ...Budget.opened, spent: options.before };
    this.#requests = TokenBucket.make(endpoint.requestsPerMinute, now);
    this.#tokens = TokenBucket.make(endpoint.tokensPerMinute, now);
  }

  tally(): Tally {
    return {
      requests: this.#sent,
      retries: this.#retries,
      spent: Budget.minus(this.#account.spent, this.#options.before),
    };
  }

  admits(progress: Budget.Progress): boolean {
    if (this.#stopped !== null || this.#spent) return false;
    // The last request of an episode reserves a whole reply.
    const { most } = progress;
    const reserved = { ...most, reply: most.reply + this.#endpoint.maxTokens };
    return Budget.admits(this.#endpoint.budget, this.#account, { ...progress, most: reserved });
  }

  #stop(reason: EndpointStopped["reason"], message: string): EndpointStopped {
    this.#stopped ??= new EndpointStopped({ reason, message: `${this.#endpoint.baseUrl}: ${message}` });
    return this.#stopped;
  }

  #key(): string | null {
    return this.#options.key === null ? null : Redacted.value(this.#options.key);
  }

  /** The most that a request with these messages can cost, as far as prompts can be estimated. */
  #most(question: CompletionRequest): Usage {
    return { prompt: Budget.estimated(charactersOf(question), this.#seen), reply: question.maxTokens };
  }

  /** Waits for both rates, and for any wait that the endpoint asks for meanwhile. */
  readonly #turn = Effect.fnUntraced({ self: this }, function* (this: Requests, most: Usage) {
    const now = yield* monotonicMillis;
    const one = TokenBucket.take(this.#requests, 1, now);
    const many = TokenBucket.take(this.#tokens, Budget.total(most), now);
    this.#requests = one.bucket;
    this.#tokens = many.bucket;
    const paced = Math.max(one.waitMs, many.waitMs);
    if (paced > 0) yield* Effect.sleep(Duration.millis(paced));
    for (;;) {
      const pause = this.#notBefore - (yield* monotonicMillis);
      if (pause <= 0) return;
      yield* Effect.sleep(Duration.millis(pause));
    }
  });

  readonly #exchange = Effect.fnUntraced({ self: this }, function* (this: Requests, question: CompletionRequest) {
    const { baseUrl, extraFields: extra, model, sentFields: sends, temperature, timeoutMs } = this.#endpoint;
    const { maxTokens, messages, tools, wishes = {} } = question;
    const { temperature: wished = temperature, ...sampling } = grantedOf(this.#openFields, wishes);
    const { body, headers, path, read } = this.#protocol;
    const key = this.#key();
    this.#sent++;
    const answered = yield* Effect.result(
      send({
        method: "POST",
        url: `${baseUrl}${path}`,
        headers: headers(key),
        json: body({
          model,
          messages,
          ...(tools === undefined ? {} : { tools }),
          sampling,
          temperature: sends.temperature ? wished : null,
          maxTokens: sends.maxTokens ? maxTokens : null,
          extra: limited(extra, maxTokens),
        }),
        maxBytes: mostBytes,
        timeoutMs,
        noRedirect: true,
      }),
    );
    if (Result.isFailure(answered)) return ofTransport(answered.failure);
    const reply = answered.success.status === 200 ? read(jsonOrUndefined(answered.success.body)) : null;
    if (reply !== null) return reply;
    const failure: Failure = ofReply(answered.success, key, yield* Clock.currentTimeMillis);
    return failure._tag === "filtered" ? withheld : failure;
  });

  /** Makes one attempt, with its cost reserved before and settled after. */
  readonly #attempt = Effect.fnUntraced({ self: this }, function* (this: Requests, question: CompletionRequest) {
    const most = this.#most(question);
    const reserved = Budget.reserve(this.#endpoint.budget, this.#account, most);
    if (reserved === null) {
      this.#spent = true;
      const spent = Budget.left(this.#endpoint.budget, this.#account);
      const message = `${this.#endpoint.baseUrl}: the budget would be exceeded; spent: ${spent}`;
      return yield* new EndpointStopped({ reason: "budget", message });
    }
    this.#account = reserved;
    let used = Budget.nothing;
    const settle = Effect.sync(() => {
      this.#account = Budget.settle(this.#account, most, used);
      this.#tokens = TokenBucket.giveBack(this.#tokens, Budget.total(most) - Budget.total(used));
    });
    return yield* Effect.ensuring(
      Effect.gen({ self: this }, function* () {
        yield* this.#turn(most);
        const result = yield* this.#exchange(question);
        if ("_tag" in result) return result;
        const { calls, text, usage } = result;
        // If the endpoint did not count a reply, an estimate of it is spent.
        used = usage ?? { prompt: most.prompt, reply: Budget.estimated(text.length + written(calls), this.#seen) };
        if (usage !== null) {
          const { characters, tokens } = this.#seen;
          this.#seen = { characters: characters + charactersOf(question), tokens: tokens + usage.prompt };
        }
        return result;
      }),
      settle,
    );
  });

  #warn(message: string, now: number): Effect.Effect<void> {
    const { warn } = this.#options;
    if (warn === undefined || now - this.#warnedAt < warningMs) return Effect.void;
    this.#warnedAt = now;
    return warn(`${this.#endpoint.baseUrl}: ${message}; trying again`);
  }

  /** Counts a request without a reply; too many in a row end the evaluation. */
  #unanswered(reason: Unanswered["reason"], message: string): Unanswered | EndpointStopped {
    this.#failed++;
    const { failuresInARow } = this.#endpoint;
    if (this.#failed < failuresInARow) return new Unanswered({ reason, message });
    const requests = failuresInARow === 1 ? "a request" : `${failuresInARow} requests in a row`;
    return this.#stop("circuit", `${requests} came to nothing; the last: ${message}`);
  }

  /** Turns a failure after which nothing is tried again into its error. */
  #given(failure: Exclude<Failure, { readonly _tag: "filtered" }>): Unanswered | EndpointStopped {
    const { _tag: tag, message } = failure;
    if (tag === "context") return new Unanswered({ reason: "context", message });
    if (tag === "rejected") return this.#unanswered("rejected", message);
    if (tag !== "again") return this.#stop(tag, message);
    if (isWorthIt(failure)) return this.#unanswered("exhausted", message);
    return this.#stop("quota", `it asks to wait ${waitWords(failure.waitMs)}; ${message}`);
  }

  /** Makes an attempt, unless the endpoint is asked nothing more. */
  readonly #attempted = Effect.fnUntraced({ self: this }, function* (this: Requests, question: CompletionRequest) {
    if (this.#stopped !== null) return yield* this.#stopped;
    const result = yield* this.#attempt(question);
    if (!("_tag" in result)) return result;
    if (result._tag === "again" && result.busy && isWorthIt(result)) {
      this.#notBefore = Math.max(this.#notBefore, (yield* monotonicMillis) + (result.waitMs ?? 0));
    }
    return yield* Effect.fail(result);
  });

  readonly complete = Effect.fn("ChatClient.complete")(
    { self: this },
    function* (this: Requests, messages: readonly ChatMessage[], options: CompletionOptions = {}) {
      const limit = options.maxTokens ?? this.#endpoint.maxTokens;
      const maxTokens = Math.min(options.wishes?.maxTokens ?? limit, limit);
      const question: CompletionRequest = { ...options, messages, maxTokens };
      const { uniform } = stream({ seed: this.#options.seed, purpose: "jitter", counters: [this.#calls++] });
      const reply = yield* retry(this.#attempted(question), policyOf(this.#endpoint), {
        isRetryable: isWorthIt,
        serverWaitMs: (failure) => (failure._tag === "again" ? failure.waitMs : null),
        uniform,
        wait: (ms, { message }) =>
          Effect.gen({ self: this }, function* () {
            this.#retries++;
            yield* this.#warn(message, yield* monotonicMillis);
            yield* Effect.sleep(Duration.millis(ms));
          }),
      }).pipe(Effect.mapError((failure) => (failure._tag === "EndpointStopped" ? failure : this.#given(failure))));
      this.#failed = 0;
      return reply;
    },
  );
}

/** True when another attempt may help and the wait that the endpoint asks for is not too long. */
const isWorthIt = (failure: Failure | EndpointStopped): boolean =>
  failure._tag === "again" && (failure.waitMs ?? 0) <= longestAskedMs;

const waitWords = (ms: number | null): string => `${Math.ceil((ms ?? 0) / 1_000)} s`;

export const make = (endpoint: Endpoint, options: ClientOptions): Effect.Effect<ChatClient> =>
  Effect.map(monotonicMillis, (now) => {
    const line = new Requests(endpoint, options, now);
    return {
      complete: (messages, completion) => line.complete(messages, completion),
      tally: () => line.tally(),
      admits: (progress) => line.admits(progress),
    };
  });
