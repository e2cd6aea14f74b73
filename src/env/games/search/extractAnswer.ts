/**
 * Finds the likely answer in the free text of a model that ignores `finish[…]`, by a pure and total function. The order is RAGEN's: boxed, bold,
 * "answer is", a conclusion, the first sentence, the first 100 characters. Unlike in RAGEN, "so" counts as a word only (not inside
 * "Robinson"), and a stated answer may be as short as "yes" or "42".
 */

const wordy = /[\p{L}\p{N}_]/u;
/** Matches from the first word character to the last. One greedy match of the whole is linear, while `…+$` would be tried at every place. */
const core = /[\p{L}\p{N}_](?:.*[\p{L}\p{N}_])?/su;
const bolds = [/\*\*([^*]+)\*\*/g, /\*([^*]+)\*/g];
const stated = /\banswer\s+is\s*:?\s*([^.!?]+)/i;
const concluded = /\b(?:therefore|thus|so|hence)\b\s*,?\s*([^.!?]+)/i;

const emphasised = (text: string): string | undefined =>
  bolds
    .flatMap((bold) => Array.from(text.matchAll(bold), ([, inner = ""]) => inner.trim()))
    .find((inner) => inner.length > 2 && wordy.test(inner));

/** The text that a pattern captures, without punctuation at its ends, if it has at least `least` characters. */
const captureWords = (pattern: RegExp, text: string, least: number): string | undefined => {
  const match = pattern.exec(text)?.[1];
  const words = match === undefined ? undefined : (core.exec(match)?.[0] ?? "");
  return words !== undefined && words.length >= least ? words : undefined;
};

/** Removes the thoughts of a text; a thought that does not end stays. */
const withoutThoughts = (text: string): string => {
  const [open, close] = ["<think>", "</think>"];
  const parts: string[] = [];
  let at = 0;
  for (;;) {
    const from = text.indexOf(open, at);
    const end = from < 0 ? -1 : text.indexOf(close, from);
    if (end < 0) return [...parts, text.slice(at)].join("");
    parts.push(text.slice(at, from));
    at = end + close.length;
  }
};

/** The content of the first `\boxed{…}` that is not empty. */
const boxedText = (text: string): string | undefined => {
  const open = "\\boxed{";
  for (let from = text.indexOf(open); from >= 0; ) {
    const end = text.indexOf("}", from + open.length);
    if (end < 0) return undefined;
    if (end > from + open.length) return text.slice(from + open.length, end);
    from = text.indexOf(open, end);
  }
  return undefined;
};

const firstSentence = (text: string): string | undefined =>
  text
    .split(/[.!?]+/)
    .map((sentence) => sentence.trim())
    .find((sentence) => sentence.length > 5);

export const extractAnswer = (reply: string): string => {
  const text = withoutThoughts(reply).replace(/\s+/g, " ").trim();
  return (
    boxedText(text)?.trim() ??
    emphasised(text) ??
    captureWords(stated, text, 1) ??
    captureWords(concluded, text, 4) ??
    firstSentence(text) ??
    text.slice(0, 100).trim()
  );
};
