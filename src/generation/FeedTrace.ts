/**
 * How the tokens of a sequence first came into its cache: a copy of a shared prefix, chunks of several tokens, single decode steps. The three
 * differ in their last bits, so a refill that follows the trace span by span gives the cache that was lost, to the bit. Plain, pure values.
 * Invariants: spans are in order and not empty; they cover the tokens that were ever in the cache, from the first one on without a gap.
 */

/** `chunk` is a prefill at the start of a sequence and an extension behind cached tokens. */
export type FeedForm = "prefix" | "chunk" | "step";

/** Tokens up to `end`, and from the end of the span before. A chunk is one span; neighbouring steps are one span together. */
export interface FeedSpan {
  readonly form: FeedForm;
  readonly end: number;
}

export type FeedTrace = readonly FeedSpan[];

export const emptyTrace: FeedTrace = [];

/** Tokens that the trace covers. */
export const tracedLength = (trace: FeedTrace): number => trace.at(-1)?.end ?? 0;

/** The trace once the tokens up to `end` have come in one form. Tokens that it covers already keep theirs: a refill changes nothing. */
export const extendTrace = (trace: FeedTrace, form: FeedForm, end: number): FeedTrace => {
  if (end <= tracedLength(trace)) return trace;
  const last = trace.at(-1);
  const joins = form === "step" && last?.form === "step";
  return [...(joins ? trace.slice(0, -1) : trace), { form, end }];
};

/** The trace of the first `length` tokens. */
export const truncateTrace = (trace: FeedTrace, length: number): FeedTrace => {
  if (length >= tracedLength(trace)) return trace;
  const whole = trace.filter(({ end }) => end <= length);
  const cut = trace[whole.length];
  return cut === undefined || tracedLength(whole) === length ? whole : [...whole, { form: cut.form, end: length }];
};

/** The span that token `position` came with; undefined where it never came. */
export const spanAt = (trace: FeedTrace, position: number): FeedSpan | undefined =>
  position < tracedLength(trace) ? trace.find(({ end }) => end > position) : undefined;
