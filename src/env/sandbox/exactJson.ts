/**
 * Parses JSON without losing how numbers are written: a double holds neither 2^53 + 1 nor the fraction of 2.0. `parseJsonNumbers` passes the
 * text of each number to its caller. `exactJson` keeps the numbers that a double would alter, so that `JSON.stringify` writes them back
 * unchanged. Both throw for text that is not JSON.
 */

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;
const { rawJSON } = JSON as typeof JSON & { readonly rawJSON: (text: string) => object };

/** Parses a text in which `number` replaces each number, given its value and its text. */
export const parseJsonNumbers = (text: string, number: (value: number, source: string) => unknown): unknown =>
  parse(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined ? number(value, source) : value,
  );

export const exactJson = (text: string): unknown =>
  parseJsonNumbers(text, (value, source) => (String(value) === source ? value : rawJSON(source)));
