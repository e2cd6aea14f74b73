/**
 * Compares a test's output with the expected one; the functions are pure and total for any output. Results of a function must be equal JSON,
 * where tuples are arrays. Texts of a program must have equal lines, apart from white space at their ends, the width of gaps and blank
 * lines at the end. A number expected with a fraction (2.5, 2.0) may be off by a millionth; whole numbers are exact, however long.
 */
import { parseJsonNumbers } from "./exactJson.ts";

const tolerance = 1e-6;

const isNear = (actual: number, expected: number): boolean =>
  Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected));

/** A number written with a fraction or an exponent, even if its value is whole. */
class FractionNumber {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

type Json =
  | null
  | boolean
  | number
  | bigint
  | string
  | FractionNumber
  | readonly Json[]
  | { readonly [key: string]: Json };

/**
 * Parses a text, undefined if it is not JSON. Whole numbers that a double cannot hold become bigints, so that they are not rounded into
 * equality.
 */
const read = (text: string): Json | undefined => {
  const exact = (value: number, source: string): Json => {
    if (!/^-?\d+$/.test(source)) return new FractionNumber(value);
    return Number.isSafeInteger(value) ? value : BigInt(source);
  };
  try {
    return parseJsonNumbers(text, exact) as Json;
  } catch {
    return undefined;
  }
};

const numberOf = (value: Json | undefined): number | null =>
  value instanceof FractionNumber ? value.value : typeof value === "number" ? value : null;

/** Compares two values; it recurses only as deep as `expected`, which is trusted. */
const isSame = (actual: Json | undefined, expected: Json): boolean => {
  if (typeof expected === "number") return numberOf(actual) === expected;
  if (expected instanceof FractionNumber) {
    const value = numberOf(actual);
    return value !== null && isNear(value, expected.value);
  }
  if (typeof expected !== "object" || expected === null) return actual === expected;
  if (typeof actual !== "object" || actual === null || actual instanceof FractionNumber) return false;
  if (Array.isArray(expected)) {
    return (
      Array.isArray(actual) &&
      actual.length === expected.length &&
      expected.every((item: Json, at) => isSame(actual[at], item))
    );
  }
  if (Array.isArray(actual)) return false;
  const actualObject = actual as { readonly [key: string]: Json };
  const entries = Object.entries(expected);
  return (
    Object.keys(actualObject).length === entries.length &&
    entries.every(([key, value]) => Object.hasOwn(actualObject, key) && isSame(actualObject[key], value))
  );
};

/** Compares two JSON texts by their values. */
export const isSameJson = (actual: string, expected: string): boolean => {
  const expectedValue = read(expected);
  return expectedValue !== undefined && isSame(read(actual), expectedValue);
};

const linesOf = (text: string): readonly string[] => text.trimEnd().split("\n");

/** Splits a line into its indentation and its words. */
const partsOf = (line: string): readonly string[] => {
  const text = line.trimEnd();
  const words = text.trimStart();
  return [text.slice(0, text.length - words.length), ...words.split(/\s+/)];
};

const fraction = /^[-+]?\d*\.\d+(?:e[-+]?\d+)?$/i;
const number = /^[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?$|^[-+]?\.\d+(?:e[-+]?\d+)?$/i;

const isSameWord = (actual: string | undefined, expected: string): boolean =>
  actual === expected ||
  (actual !== undefined && fraction.test(expected) && number.test(actual) && isNear(Number(actual), Number(expected)));

export const isSameText = (actual: string, expected: string): boolean => {
  const actualLines = linesOf(actual);
  const expectedLines = linesOf(expected);
  return (
    actualLines.length === expectedLines.length &&
    expectedLines.every((line, at) => {
      if (actualLines[at] === line) return true;
      const parts = partsOf(actualLines[at]!);
      const expectedParts = partsOf(line);
      return (
        parts.length === expectedParts.length && expectedParts.every((part, index) => isSameWord(parts[index], part))
      );
    })
  );
};
