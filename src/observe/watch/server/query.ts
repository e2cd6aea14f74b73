/** Parses the query of a request and the numbers in its path. The error for a bad value lists the good ones. Pure. */
import { badRequest } from "../../../support/http/Problem.ts";

const quoted = (value: string): string => JSON.stringify(value.slice(0, 80));

interface Range {
  readonly min: number;
  readonly max: number;
}

/** A whole number of the query, or `fallback` if it is missing. */
export const wholeNumber = <A extends number | null>(
  query: URLSearchParams,
  key: string,
  { max, min }: Range,
  fallback: A,
): number | A => {
  const text = query.get(key);
  if (text === null || text === "") return fallback;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw badRequest(`${key}: ${quoted(text)}: a whole number from ${min} to ${max}`);
};

const anyStep: Range = { min: 0, max: Number.MAX_SAFE_INTEGER };

/** A whole number in a segment of the path. */
export const parseWholeNumber = (text: string, what: string): number => {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badRequest(`${what}: ${quoted(text)}: a whole number`);
};

/** The steps `from` to `to` of the query; all steps if they are missing. */
export const stepsIn = (query: URLSearchParams): { readonly from: number; readonly to: number } => ({
  from: wholeNumber(query, "from", anyStep, 0),
  to: wholeNumber(query, "to", anyStep, Number.MAX_SAFE_INTEGER),
});

/** A text of the query, one of `choices`; null if it is missing. */
export const oneOf = (query: URLSearchParams, key: string, choices: readonly string[]): string | null => {
  const text = query.get(key);
  if (text === null || text === "") return null;
  if (choices.includes(text)) return text;
  throw badRequest(`${key}: ${quoted(text)}: one of ${choices.join(", ")}`);
};

/** Milliseconds since the epoch; null if they are missing. */
export const timeIn = (query: URLSearchParams, key: string): number | null => {
  const text = query.get(key);
  if (text === null || text === "") return null;
  if (/^\d{1,15}(\.\d{1,9})?$/.test(text)) return Number(text);
  throw badRequest(`${key}: ${quoted(text)}: milliseconds since the epoch`);
};
