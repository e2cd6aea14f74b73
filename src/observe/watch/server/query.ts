/** What a request names by its path and its query, checked. A value that cannot be taken is answered with what could. Pure. */
import { badRequest } from "./Problem.ts";

/** Characters of a target; no page of ours asks for more. */
const LONGEST_TARGET = 8_192;

export interface Target {
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

const shown = (value: string): string => JSON.stringify(value.slice(0, 80));

const decoded = (segment: string): string => {
  let text: string;
  try {
    text = decodeURIComponent(segment);
  } catch {
    throw badRequest(`the path holds ${shown(segment)}, which is no encoded text`);
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/[\u0000-\u001f\u007f]/.test(text)) throw badRequest("the path holds a control character");
  return text;
};

/** The segments of a path, decoded one by one: an encoded slash is part of its segment. */
export const targetOf = (url: string): Target => {
  if (url.length > LONGEST_TARGET) throw badRequest(`a target has ${LONGEST_TARGET} characters at most`);
  const [path = "/", ...query] = url.split("?");
  return {
    segments: path.split("/").slice(1).map(decoded),
    query: new URLSearchParams(query.join("?")),
  };
};

interface Range {
  readonly min: number;
  readonly max: number;
}

/** A whole number of the query, or `fallback` where it is not there. */
export const whole = <A extends number | null>(
  query: URLSearchParams,
  key: string,
  { max, min }: Range,
  fallback: A,
): number | A => {
  const text = query.get(key);
  if (text === null || text === "") return fallback;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw badRequest(`${key}: ${shown(text)}: a whole number from ${min} to ${max}`);
};

const anyStep: Range = { min: 0, max: Number.MAX_SAFE_INTEGER };

/** A whole number in a segment of the path. */
export const wholeIn = (text: string, what: string): number => {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badRequest(`${what}: ${shown(text)}: a whole number`);
};

/** The steps `from` to `to` of the query; all without them. */
export const stepsIn = (query: URLSearchParams): { readonly from: number; readonly to: number } => ({
  from: whole(query, "from", anyStep, 0),
  to: whole(query, "to", anyStep, Number.MAX_SAFE_INTEGER),
});

/** A text of the query, one of `choices`; null where it is not there. */
export const oneOf = (query: URLSearchParams, key: string, choices: readonly string[]): string | null => {
  const text = query.get(key);
  if (text === null || text === "") return null;
  if (choices.includes(text)) return text;
  throw badRequest(`${key}: ${shown(text)}: one of ${choices.join(", ")}`);
};

/** Milliseconds since the epoch; null where there are none. */
export const timeIn = (query: URLSearchParams, key: string): number | null => {
  const text = query.get(key);
  if (text === null || text === "") return null;
  if (/^\d{1,15}(\.\d{1,9})?$/.test(text)) return Number(text);
  throw badRequest(`${key}: ${shown(text)}: milliseconds since the epoch`);
};
