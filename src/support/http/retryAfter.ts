/**
 * How long an endpoint asks to wait: `retry-after` in seconds or as a date (RFC 9110, section 10.2.3), or OpenAI's `retry-after-ms`. Pure. Invariant:
 * a date is measured against the answer's own `date`, by the endpoint's clock; only an answer without one is measured by ours.
 */

type Headers = Readonly<Record<string, string | undefined>>;

/** Unix milliseconds; NaN for a text that is no date. A date begins with letters, while `Date.parse` takes numbers too. */
const unixOf = (text: string | undefined): number =>
  text !== undefined && /^[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;

/** Milliseconds to wait; null where nothing is asked for that can be read. `now` is Unix milliseconds. */
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
