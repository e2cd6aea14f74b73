/** How long an endpoint asks to wait: `retry-after` in seconds or as a date (RFC 9110, section 10.2.3), or OpenAI's `retry-after-ms`. Pure. */

type Headers = Readonly<Record<string, string | undefined>>;

/** Milliseconds from `now`, itself in Unix milliseconds; null where nothing is asked for that can be read. */
export const retryAfterMs = (headers: Headers, now: number): number | null => {
  const ms = headers["retry-after-ms"];
  if (ms !== undefined && /^\d+(\.\d+)?$/.test(ms.trim())) return Math.ceil(Number(ms));
  const after = headers["retry-after"]?.trim();
  if (after === undefined || after === "") return null;
  if (/^\d+(\.\d+)?$/.test(after)) return Math.ceil(1_000 * Number(after));
  // A date has letters; anything else that `Date.parse` would take is none.
  const date = /^[A-Za-z]{3}/.test(after) ? Date.parse(after) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now);
};
