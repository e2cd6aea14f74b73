/**
 * One operation of a Tinker server, from the request that asks for it to its result: the server answers with the id of a future, which is asked
 * until it has the result. A pure state machine over what is heard. Invariant: a request that the server may have taken is sent again only where
 * that cannot count twice.
 */
import type { Instant } from "../../domain/Instant.ts";
import { errorMessageIn } from "../../support/http/errorText.ts";
import { type RetryPolicy, waitMs } from "../../support/http/retry.ts";
import type { Failure } from "./TinkerError.ts";

/** What an answer holds: JSON, a protobuf message, or neither. */
export type Content =
  | { readonly _tag: "json"; readonly value: unknown }
  | { readonly _tag: "protobuf"; readonly bytes: Uint8Array }
  | { readonly _tag: "unreadable"; readonly why: string };

export type Heard =
  | {
      readonly _tag: "answer";
      readonly status: number;
      readonly content: Content;
      /** What the server asks to wait, milliseconds. */
      readonly retryAfterMs: number | null;
    }
  /** No answer came. `unsent`: the server has not seen the request. `late`: it took longer than we wait. */
  | { readonly _tag: "silence"; readonly unsent: boolean; readonly late: boolean; readonly why: string };

/**
 * When a request may be sent again although the server may have taken it: `freely`, as it changes nothing that counts; `same`, as the server
 * knows it again by its number; `unseen`, never.
 */
export type Resending = "freely" | "same" | "unseen";

export interface Rules {
  readonly resending: Resending;
  /** The answer to the request is the result; there is no future. */
  readonly direct: boolean;
  /** How long a server in trouble is asked again, milliseconds. */
  readonly outageMs: number;
}

/** What stands in the way at the moment. */
export interface Trouble {
  readonly since: Instant;
  /** Attempts that failed since then. */
  readonly attempt: number;
  readonly why: string;
}

export interface State {
  readonly phase: { readonly _tag: "submit" } | { readonly _tag: "poll"; readonly id: string };
  /** Null where the server does as it should. */
  readonly trouble: Trouble | null;
  /** Requests that were sent again after the operation had failed or its result had expired. */
  readonly repeated: number;
  /** Answers in a row that call the question for the result bad. */
  readonly refusals: number;
}

export const begun: State = { phase: { _tag: "submit" }, trouble: null, repeated: 0, refusals: 0 };

export type Next =
  /** Ask again, after a wait: what `state` says, the request or the question for its result. */
  | { readonly _tag: "ask"; readonly state: State; readonly waitMs: number }
  | { readonly _tag: "done"; readonly content: Content }
  | { readonly _tag: "failed"; readonly failure: Failure };

const backoff: RetryPolicy = { firstMs: 1_000, longestMs: 30_000 };
/** Someone has to pay first. */
const billing: RetryPolicy = { firstMs: 10_000, longestMs: 60_000 };
/** Least time between two questions for a result that does not take long to be refused. */
const pauseMs = 1_000;
/** Operations that failed, or whose result expired, are asked for again so many times at most. */
const mostRepeated = 3;
/** As often a question for a result is repeated that is called bad. */
const mostRefusals = 3;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const longest = 300;

/** A few words of a text that a server wrote. */
const excerpt = (text: string): string => {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
};

/** What an error body says. */
const saidIn = (content: Content): string => {
  if (content._tag === "unreadable") return content.why;
  return excerpt((content._tag === "json" ? errorMessageIn(content.value) : null) ?? "");
};

const worded = (status: number, content: Content): string => {
  const said = saidIn(content);
  return said === "" ? `status ${status}` : `status ${status}: ${said}`;
};

const failed = (reason: Failure["reason"], message: string): Next => ({
  _tag: "failed",
  failure: { reason, message },
});

/** Asks again after trouble, unless that has gone on for too long. */
const again = (
  state: State,
  why: string,
  {
    now,
    outageMs,
    wait = backoff,
    asked = null,
  }: Situation & { readonly wait?: RetryPolicy; readonly asked?: number | null },
): Next => {
  const { since, attempt } = state.trouble ?? { since: now, attempt: 0 };
  const lastedMs = now.monotonic - since.monotonic;
  const waits = waitMs(
    { ...wait, deadlineMs: outageMs },
    { retryIndex: attempt, serverWaitMs: asked, elapsedMs: lastedMs },
  );
  if (waits === null) return failed("outage", `${why}, for ${Math.round(lastedMs / 1_000)} s`);
  return { _tag: "ask", state: { ...state, trouble: { since, attempt: attempt + 1, why } }, waitMs: waits };
};

interface Situation {
  readonly now: Instant;
  readonly outageMs: number;
}

const uncertain = (why: string): Next =>
  failed(
    "uncertain",
    `${why}; the server may have counted the request, and does not know one again that is sent twice`,
  );

/** As SkyRL's engine says of a model that it has unloaded. */
const noSuchModel = /\bmodel\b.*\bnot (?:found|loaded)\b/i;

/** What no repetition changes. */
const refused = (status: number, content: Content): Next => {
  const message = worded(status, content);
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

const afterSubmit = (state: State, heard: Heard, rules: Rules, now: Instant): Next => {
  const situation = { now, outageMs: rules.outageMs };
  const mayResend = rules.resending !== "unseen";
  if (heard._tag === "silence") {
    return heard.unsent || mayResend ? again(state, heard.why, situation) : uncertain(heard.why);
  }
  const { content, retryAfterMs, status } = heard;
  const why = worded(status, content);
  if (status >= 200 && status < 300) {
    if (rules.direct) return { _tag: "done", content };
    const id = requestId(content);
    if (id === null) return failed("nonsense", "the answer to the request has no request_id");
    return { _tag: "ask", state: { ...state, phase: { _tag: "poll", id }, trouble: null }, waitMs: 0 };
  }
  // These say that the request was not taken.
  if (status === 429 || status === 425) return again(state, why, { ...situation, asked: retryAfterMs });
  if (status === 402) return again(state, why, { ...situation, wait: billing, asked: retryAfterMs });
  if (status === 408 || status >= 500) {
    return mayResend ? again(state, why, { ...situation, asked: retryAfterMs }) : uncertain(why);
  }
  return refused(status, content);
};

/** Asks for the operation again, where it may be. */
const repeat = (state: State, why: string, rules: Rules, now: Instant): Next => {
  if (state.repeated >= mostRepeated) return failed("failed", why);
  const anew: State = { ...state, phase: { _tag: "submit" }, repeated: state.repeated + 1 };
  return again(anew, why, { now, outageMs: rules.outageMs });
};

/** The result is not there yet; `tookMs` is how long the question for it was held. */
const notYet = (state: State, why: string | null, tookMs: number, now: Instant): Next => {
  const trouble =
    why === null ? null : { since: state.trouble?.since ?? now, attempt: state.trouble?.attempt ?? 0, why };
  return { _tag: "ask", state: { ...state, trouble, refusals: 0 }, waitMs: Math.max(0, pauseMs - tookMs) };
};

const queueWords: Readonly<Record<string, string>> = {
  paused_capacity: "it waits for capacity",
  paused_rate_limit: "it waits for its rate limit",
};

/** What a status of 200 says of a future. */
const result = (state: State, content: Content, rules: Rules, tookMs: number, now: Instant): Next => {
  if (content._tag === "unreadable") return again(state, content.why, { now, outageMs: rules.outageMs });
  if (content._tag === "protobuf" || !isObject(content.value)) return { _tag: "done", content };
  const { category, error, queue_state, type } = content.value;
  if (type === "try_again") return notYet(state, queueWords[String(queue_state)] ?? null, tookMs, now);
  if (typeof error !== "string") return { _tag: "done", content };
  const why = excerpt(error);
  if (String(category).toLowerCase() === "user") return failed("rejected", why);
  return rules.resending === "freely" ? repeat(state, why, rules, now) : failed("failed", why);
};

const afterPoll = (state: State, heard: Heard, rules: Rules, tookMs: number, now: Instant): Next => {
  const situation = { now, outageMs: rules.outageMs };
  if (heard._tag === "silence") {
    // A question that nobody answers in time is asked again; whether the server lives, its heartbeat says.
    return heard.late ? notYet(state, null, tookMs, now) : again(state, heard.why, situation);
  }
  const { content, retryAfterMs, status } = heard;
  const why = worded(status, content);
  if (status >= 200 && status < 300) return result(state, content, rules, tookMs, now);
  if (status === 408) return notYet(state, null, tookMs, now);
  if (status === 410) {
    return rules.resending === "unseen" ? uncertain(`its result expired (${why})`) : repeat(state, why, rules, now);
  }
  if (status === 402) return again(state, why, { ...situation, wait: billing, asked: retryAfterMs });
  if (status === 429 || status === 425 || status >= 500) {
    return again(state, why, { ...situation, asked: retryAfterMs });
  }
  if (status === 400 && state.refusals < mostRefusals) {
    return { _tag: "ask", state: { ...state, refusals: state.refusals + 1 }, waitMs: pauseMs / 10 };
  }
  return refused(status, content);
};

/** What follows from what was heard, `tookMs` milliseconds after it was asked. */
export const heard = (
  state: State,
  what: Heard,
  rules: Rules,
  { now, tookMs }: { readonly now: Instant; readonly tookMs: number },
): Next =>
  state.phase._tag === "submit" ? afterSubmit(state, what, rules, now) : afterPoll(state, what, rules, tookMs, now);
