/**
 * Records how the tokens of a sequence first entered its cache: as a shared prefix, in chunks, or by decode steps. The three differ in
 * their last bits, so feeding along the trace restores a lost cache to the bit. Invariant: spans are ordered, not empty, and cover every
 * token that was ever cached, without gaps.
 */

import type { ReplySpan } from "./Policy.ts";

/** A `chunk` is a prefill at the start of a sequence or an extension after cached tokens. */
export type FeedForm = "prefix" | "chunk" | "step";

/** Tokens from the end of the previous span up to `end`. A chunk is one span; neighbouring steps join into one. */
export interface FeedSpan {
  readonly form: FeedForm;
  readonly end: number;
}

export type FeedTrace = readonly FeedSpan[];

export const emptyTrace: FeedTrace = [];

export const tracedLength = (trace: FeedTrace): number => trace.at(-1)?.end ?? 0;

/**
 * Returns the trace after the tokens up to `end` were fed in one form. Tokens already traced keep theirs, so feeding again changes nothing.
 */
export const extendTrace = (trace: FeedTrace, form: FeedForm, end: number): FeedTrace => {
  if (end <= tracedLength(trace)) return trace;
  const last = trace.at(-1);
  const joins = form === "step" && last?.form === "step";
  return [...(joins ? trace.slice(0, -1) : trace), { form, end }];
};

/**
 * Returns the trace that a sequence had once its replies were sampled: each request fed its ids behind the cached ones, in chunks of at most
 * `chunk` tokens, and each sampled id but the last was fed by a step.
 */
export const traceOfReplies = (prefixLength: number, replies: readonly ReplySpan[], chunk: number): FeedTrace => {
  let trace = prefixLength > 0 ? extendTrace(emptyTrace, "prefix", prefixLength) : emptyTrace;
  const feed = (form: FeedForm, end: number): void => {
    trace = extendTrace(trace, form, end);
  };
  for (const { end, start } of replies) {
    for (let cached = tracedLength(trace); cached < start; cached = tracedLength(trace)) {
      const isStep = cached > 0 && start - cached === 1;
      feed(isStep ? "step" : "chunk", Math.min(start, cached + chunk));
    }
    feed("step", end - 1);
  }
  return trace;
};

/** Returns the trace of the first `length` tokens. */
export const truncateTrace = (trace: FeedTrace, length: number): FeedTrace => {
  if (length >= tracedLength(trace)) return trace;
  const whole = trace.filter(({ end }) => end <= length);
  const cut = trace[whole.length];
  return cut === undefined || tracedLength(whole) === length ? whole : [...whole, { form: cut.form, end: length }];
};

/** Returns the span of token `position`; undefined if it was never cached. */
export const spanAt = (trace: FeedTrace, position: number): FeedSpan | undefined =>
  position < tracedLength(trace) ? trace.find(({ end }) => end > position) : undefined;
