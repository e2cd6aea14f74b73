/**
 * Text of the user in messages: it is cut, and characters that a terminal would obey or hide are escaped. Lists of problems are cut too.
 * Invariant: a message made of these parts has a bounded length.
 */

const maxTextLength = 80;
export const maxProblems = 10;
const maxMessageLength = 4_000;

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 3)}...` : text);

const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const escaped = (character: string): string => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;

/** Shows a user's text in one line. */
export const showText = (text: string, most = maxTextLength): string => cut(text, most).replace(unprintable, escaped);

/** Shows a full key. */
export const showKey = (path: readonly string[]): string => showText(path.join("."));

/** Shows a value as JSON; NaN and infinities by their names. */
export const showValue = (value: unknown): string => {
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  return showText(text);
};

/** Joins the first problems to one message and counts the rest; `others` more have no text. */
export const listProblems = (problems: readonly string[], others = 0): string => {
  const named = problems.slice(0, maxProblems);
  const more = problems.length - named.length + others;
  const rest = more > 0 ? [`… and ${more} more`] : [];
  return cut([...named, ...rest].join("\n"), maxMessageLength);
};
