/**
 * Repeats a failed attempt, for every client of a server. The client states how often, after which waits and for how long.
 * Invariants: no wait is shorter than the server asks for. With a deadline, the last attempt begins at the deadline and not
 * later.
 */
import { Duration, Effect, Result } from "effect";
import { monotonicMillis } from "../../domain/Instant.ts";

export interface RetryPolicy {
  /** The first wait, milliseconds; each further one is twice as long. */
  readonly firstMs: number;
  /** The longest wait that the server does not ask for, milliseconds. */
  readonly longestMs: number;
  /** The share of a wait that is random, so that clients that failed together do not return together. */
  readonly jitter?: number;
  /** The largest number of retries; unlimited if absent. */
  readonly maxRetries?: number;
  /** Milliseconds from the first failure to the last attempt. */
  readonly deadlineMs?: number;
}

/** The situation after a failed attempt. */
export interface FailedAttempt {
  /** Retries before this failure: 0 for the first attempt. */
  readonly retryIndex: number;
  /** Milliseconds that the server asks to wait. */
  readonly serverWaitMs?: number | null;
  /** Milliseconds since the first failure. */
  readonly elapsedMs?: number;
  /** Uniform in [0, 1]; 1 takes each wait whole. */
  readonly jitterDraw?: number;
}

/** The wait before the next attempt, milliseconds; null if there is no further attempt. */
export const waitMs = (
  policy: RetryPolicy,
  { serverWaitMs, jitterDraw = 1, elapsedMs = 0, retryIndex }: FailedAttempt,
): number | null => {
  const { deadlineMs = Number.POSITIVE_INFINITY, firstMs, jitter = 0, longestMs, maxRetries } = policy;
  if ((maxRetries !== undefined && retryIndex >= maxRetries) || elapsedMs >= deadlineMs) return null;
  const whole = Math.min(longestMs, firstMs * 2 ** retryIndex);
  const wait = Math.max(serverWaitMs ?? 0, whole * (1 - jitter)) + whole * jitter * jitterDraw;
  return Math.min(wait, deadlineMs - elapsedMs);
};

/** The sum of the first `times` waits at their longest, milliseconds. */
export const totalWaitMs = (policy: RetryPolicy, times: number): number =>
  Array.from({ length: times }, (_, retryIndex) => waitMs(policy, { retryIndex }) ?? 0).reduce(
    (sum, ms) => sum + ms,
    0,
  );

export interface RetryOptions<E> {
  /** True if another attempt may help; without it, one always may. */
  readonly isRetryable?: (error: E) => boolean;
  /** Milliseconds that the server asks to wait. */
  readonly serverWaitMs?: (error: E) => number | null;
  /** Uniform in [0, 1), for policies with jitter. */
  readonly uniform?: () => number;
  /** Waits, in place of a plain sleep. */
  readonly wait?: (ms: number, error: E) => Effect.Effect<void>;
}

/** The first success of `attempt`, or its last failure. */
export const retry = <A, E, R>(
  attempt: Effect.Effect<A, E, R>,
  policy: RetryPolicy,
  options: RetryOptions<E> = {},
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const { serverWaitMs, uniform, wait = (ms) => Effect.sleep(Duration.millis(ms)) } = options;
    let failedAt: number | undefined;
    for (let retryIndex = 0; ; retryIndex++) {
      const outcome = yield* Effect.result(attempt);
      if (Result.isSuccess(outcome)) return outcome.success;
      const error = outcome.failure;
      const now = yield* monotonicMillis;
      failedAt ??= now;
      const failed = {
        retryIndex,
        serverWaitMs: serverWaitMs?.(error) ?? null,
        elapsedMs: now - failedAt,
        jitterDraw: uniform?.() ?? 1,
      };
      const ms = options.isRetryable?.(error) === false ? null : waitMs(policy, failed);
      if (ms === null) return yield* Effect.fail(error);
      yield* wait(ms, error);
    }
  });

/** True for a status after which the same request may succeed later. */
export const isTransient = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || status >= 500;

type Headers = Readonly<Record<string, string | undefined>>;

/** Unix milliseconds; NaN for a text that is no date. A date begins with letters, while `Date.parse` takes numbers too. */
const unixOf = (text: string | undefined): number =>
  text !== undefined && /^[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;

/**
 * Milliseconds that a reply asks to wait: `retry-after` in seconds or as a date (RFC 9110, section 10.2.3), or OpenAI's
 * `retry-after-ms`. Null if there is none that can be read. A date is compared with the reply's own `date`, by the server's
 * clock, and otherwise with `now`, Unix milliseconds.
 */
export const retryAfterMs = (headers: Headers, now: number): number | null => {
  const ms = headers["retry-after-ms"];
  if (ms !== undefined && /^\d+(\.\d+)?$/.test(ms.trim())) return Math.ceil(Number(ms));
  const after = headers["retry-after"]?.trim();
  if (after === undefined || after === "") return null;
  if (/^\d+(\.\d+)?$/.test(after)) return Math.ceil(1_000 * Number(after));
  const due = unixOf(after);
  if (Number.isNaN(due)) return null;
  const answered = unixOf(headers.date?.trim());
  return Math.max(0, due - (Number.isNaN(answered) ? now : answered));
};
