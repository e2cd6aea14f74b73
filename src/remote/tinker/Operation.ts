/**
 * One operation of a Tinker server, from its request to its result: the server answers with the id of a future, which is polled until it
 * has the result. A state machine over the results of attempts. Invariant: a request that the server may have taken is repeated only if it
 * cannot count twice.
 */
import type { Instant } from "../../domain/Instant.ts";
import { errorMessageIn } from "../../support/http/errorText.ts";
import { type RetryPolicy, waitMs } from "../../support/http/retry.ts";
import type { Failure } from "./TinkerError.ts";

/** The body of an answer: JSON, a protobuf message, or neither. */
export type Content =
  | { readonly _tag: "json"; readonly value: unknown }
  | { readonly _tag: "protobuf"; readonly bytes: Uint8Array }
  | { readonly _tag: "unreadable"; readonly why: string };

export type AttemptResult =
  | {
      readonly _tag: "answer";
      readonly status: number;
      readonly content: Content;
      /** Pause that the server asks for, milliseconds. */
      readonly retryAfterMs: number | null;
    }
  /** No answer came. `unsent`: the server has not seen the request. `late`: the answer takes longer than our timeout. */
  | { readonly _tag: "silence"; readonly unsent: boolean; readonly late: boolean; readonly why: string };

/**
 * Tells when a request may be repeated although the server may have taken it. `freely`: always, since it changes nothing that counts.
 * `same`: the server recognises its number. `unseen`: never.
 */
export type ResendRule = "freely" | "same" | "unseen";

export interface OperationRules {
  readonly resending: ResendRule;
  /** True if the answer is the result, without a future. */
  readonly direct: boolean;
  /** Longest time that a server in trouble is asked again, milliseconds. */
  readonly outageMs: number;
}

/** The trouble that keeps an operation from its result. */
export interface OperationTrouble {
  readonly since: Instant;
  /** Failed attempts since then. */
  readonly attempt: number;
  readonly why: string;
}

export interface OperationState {
  readonly phase: { readonly _tag: "submit" } | { readonly _tag: "poll"; readonly id: string };
  /** Null while the server works as it should. */
  readonly trouble: OperationTrouble | null;
  /** Repeated requests after the operation failed or its result expired. */
  readonly repeated: number;
  /** Answers in a row that reject the poll. */
  readonly refusals: number;
}

export const initialState: OperationState = { phase: { _tag: "submit" }, trouble: null, repeated: 0, refusals: 0 };

export type NextAction =
  /** Send the request or the poll, by `state`, after a wait. */
  | { readonly _tag: "ask"; readonly state: OperationState; readonly waitMs: number }
  | { readonly _tag: "done"; readonly content: Content }
  | { readonly _tag: "failed"; readonly failure: Failure };

const backoff: RetryPolicy = { firstMs: 1_000, longestMs: 30_000 };
/** A person has to pay first, so these waits are longer. */
const billing: RetryPolicy = { firstMs: 10_000, longestMs: 60_000 };
/** Least time between two polls, for servers that answer at once. */
const pauseMs = 1_000;
/** Most repetitions of an operation that failed, or whose result expired. */
const mostRepeated = 3;
/** Most polls in a row that the server may reject. */
const mostRefusals = 3;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const LONGEST_EXCERPT = 300;

/** Shortens a server's text to a few words. */
const excerpt = (text: string): string => {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > LONGEST_EXCERPT ? `${line.slice(0, LONGEST_EXCERPT)}…` : line;
};

/** The message in an error's body. */
const errorMessage = (content: Content): string => {
  if (content._tag === "unreadable") return content.why;
  return excerpt((content._tag === "json" ? errorMessageIn(content.value) : null) ?? "");
};

const describeStatus = (status: number, content: Content): string => {
  const said = errorMessage(content);
  return said === "" ? `status ${status}` : `status ${status}: ${said}`;
};

const failed = (reason: Failure["reason"], message: string): NextAction => ({
  _tag: "failed",
  failure: { reason, message },
});

/** Repeats after trouble, unless that has lasted for too long. */
const retryAfterTrouble = (
  state: OperationState,
  why: string,
  {
    now,
    outageMs,
    wait = backoff,
    asked: askedMs = null,
  }: Situation & { readonly wait?: RetryPolicy; readonly asked?: number | null },
): NextAction => {
  const { since, attempt } = state.trouble ?? { since: now, attempt: 0 };
  const lastedMs = now.monotonic - since.monotonic;
  const waits = waitMs(
    { ...wait, deadlineMs: outageMs },
    { retryIndex: attempt, serverWaitMs: askedMs, elapsedMs: lastedMs },
  );
  if (waits === null) return failed("outage", `${why}, for ${Math.round(lastedMs / 1_000)} s`);
  return { _tag: "ask", state: { ...state, trouble: { since, attempt: attempt + 1, why } }, waitMs: waits };
};

interface Situation {
  readonly now: Instant;
  readonly outageMs: number;
}

const uncertain = (why: string): NextAction =>
  failed(
    "uncertain",
    `${why}; the server may have counted the request, and does not know one again that is sent twice`,
  );

/** SkyRL's engine says this of a model that it has unloaded. */
const noSuchModel = /\bmodel\b.*\bnot (?:found|loaded)\b/i;

/** The failure for a status that no repetition changes. */
const refusal = (status: number, content: Content): NextAction => {
  const message = describeStatus(status, content);
  if (status === 401 || status === 403) return failed("unauthorised", `status ${status}`);
  if (status === 404 || (status === 400 && noSuchModel.test(message))) return failed("gone", message);
  if (status === 409) return failed("conflict", message);
  return failed("rejected", message);
};

const requestId = (content: Content): string | null => {
  if (content._tag !== "json" || !isObject(content.value)) return null;
  const { request_id: id } = content.value;
  return typeof id === "string" && id !== "" && id.length <= 512 ? id : null;
};

const afterSubmit = (
  state: OperationState,
  attempt: AttemptResult,
  rules: OperationRules,
  now: Instant,
): NextAction => {
  const situation = { now, outageMs: rules.outageMs };
  const mayResend = rules.resending !== "unseen";
  if (attempt._tag === "silence") {
    return attempt.unsent || mayResend ? retryAfterTrouble(state, attempt.why, situation) : uncertain(attempt.why);
  }
  const { content, retryAfterMs, status } = attempt;
  const why = describeStatus(status, content);
  if (status >= 200 && status < 300) {
    if (rules.direct) return { _tag: "done", content };
    const id = requestId(content);
    if (id === null) return failed("nonsense", "the answer to the request has no request_id");
    return { _tag: "ask", state: { ...state, phase: { _tag: "poll", id }, trouble: null }, waitMs: 0 };
  }
  // These statuses say that the request was not taken.
  if (status === 429 || status === 425) return retryAfterTrouble(state, why, { ...situation, asked: retryAfterMs });
  if (status === 402) return retryAfterTrouble(state, why, { ...situation, wait: billing, asked: retryAfterMs });
  if (status === 408 || status >= 500) {
    return mayResend ? retryAfterTrouble(state, why, { ...situation, asked: retryAfterMs }) : uncertain(why);
  }
  return refusal(status, content);
};

/** Repeats the operation's request, unless it was repeated too often. */
const repeat = (state: OperationState, why: string, rules: OperationRules, now: Instant): NextAction => {
  if (state.repeated >= mostRepeated) return failed("failed", why);
  const anew: OperationState = { ...state, phase: { _tag: "submit" }, repeated: state.repeated + 1 };
  return retryAfterTrouble(anew, why, { now, outageMs: rules.outageMs });
};

/** Polls again for a result that is not there yet; `tookMs` is the time that the server held the poll. */
const pollAgain = (state: OperationState, why: string | null, tookMs: number, now: Instant): NextAction => {
  const trouble =
    why === null ? null : { since: state.trouble?.since ?? now, attempt: state.trouble?.attempt ?? 0, why };
  return { _tag: "ask", state: { ...state, trouble, refusals: 0 }, waitMs: Math.max(0, pauseMs - tookMs) };
};

const queueWords: Readonly<Record<string, string>> = {
  paused_capacity: "it waits for capacity",
  paused_rate_limit: "it waits for its rate limit",
};

/** Reads a future's answer with status 200. */
const readFuture = (
  state: OperationState,
  content: Content,
  rules: OperationRules,
  tookMs: number,
  now: Instant,
): NextAction => {
  if (content._tag === "unreadable") return retryAfterTrouble(state, content.why, { now, outageMs: rules.outageMs });
  if (content._tag === "protobuf" || !isObject(content.value)) return { _tag: "done", content };
  const { category, error, queue_state, type } = content.value;
  if (type === "try_again") return pollAgain(state, queueWords[String(queue_state)] ?? null, tookMs, now);
  if (typeof error !== "string") return { _tag: "done", content };
  const why = excerpt(error);
  if (String(category).toLowerCase() === "user") return failed("rejected", why);
  return rules.resending === "freely" ? repeat(state, why, rules, now) : failed("failed", why);
};

const afterPoll = (
  state: OperationState,
  attempt: AttemptResult,
  rules: OperationRules,
  tookMs: number,
  now: Instant,
): NextAction => {
  const situation = { now, outageMs: rules.outageMs };
  if (attempt._tag === "silence") {
    // An unanswered poll is repeated; the heartbeat tells if the server lives.
    return attempt.late ? pollAgain(state, null, tookMs, now) : retryAfterTrouble(state, attempt.why, situation);
  }
  const { content, retryAfterMs, status } = attempt;
  const why = describeStatus(status, content);
  if (status >= 200 && status < 300) return readFuture(state, content, rules, tookMs, now);
  if (status === 408) return pollAgain(state, null, tookMs, now);
  if (status === 410) {
    return rules.resending === "unseen" ? uncertain(`its result expired (${why})`) : repeat(state, why, rules, now);
  }
  if (status === 402) return retryAfterTrouble(state, why, { ...situation, wait: billing, asked: retryAfterMs });
  if (status === 429 || status === 425 || status >= 500) {
    return retryAfterTrouble(state, why, { ...situation, asked: retryAfterMs });
  }
  if (status === 400 && state.refusals < mostRefusals) {
    return { _tag: "ask", state: { ...state, refusals: state.refusals + 1 }, waitMs: pauseMs / 10 };
  }
  return refusal(status, content);
};

/** The next action after an attempt that took `tookMs` milliseconds. */
export const nextAction = (
  state: OperationState,
  attempt: AttemptResult,
  rules: OperationRules,
  { now, tookMs }: { readonly now: Instant; readonly tookMs: number },
): NextAction =>
  state.phase._tag === "submit"
    ? afterSubmit(state, attempt, rules, now)
    : afterPoll(state, attempt, rules, tookMs, now);
