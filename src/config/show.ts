/**
 * Text of the user in messages: keys and values are cut, and what a terminal would obey or hide is written as an escape. Lists of problems
 * are cut too. Invariant: a message made of these parts has a bounded length, whatever was written.
 */

/** Longest key or value in a message. */
const maxTextLength = 80;
/** Problems that one message lists. */
export const maxProblems = 10;
const maxMessageLength = 4_000;

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 3)}...` : text);

/** Control and format characters, lone surrogates and separators of lines. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const escaped = (character: string): string => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;

/** Words of the user as they are, in one line. */
export const showText = (text: string, most = maxTextLength): string => cut(text, most).replace(unprintable, escaped);

/** A full key. */
export const showKey = (path: readonly string[]): string => showText(path.join("."));

/** A value as JSON; numbers that JSON does not have, by their names. */
export const showValue = (value: unknown): string => {
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  return showText(text);
};

/** One message of many problems: the first ones, and how many there are besides. `others` were not put into words. */
export const listProblems = (problems: readonly string[], others = 0): string => {
  const named = problems.slice(0, maxProblems);
  const more = problems.length - named.length + others;
  const rest = more > 0 ? [`… and ${more} more`] : [];
  return cut([...named, ...rest].join("\n"), maxMessageLength);
};
