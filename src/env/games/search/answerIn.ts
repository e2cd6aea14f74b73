/**
 * Finds the answer in free text: what a model that ignores `finish[…]` most likely meant. Pure and total.
 * The order is RAGEN's: boxed, bold, "answer is", a conclusion, the first sentence, the first 100 characters. Differs from RAGEN in that
 * "so" counts as a word only (there it is found inside "Robinson") and a stated answer may be as short as "yes" or "42".
 */

const wordy = /[\p{L}\p{N}_]/u;
/** From the first character that is part of a word to the last: a greedy match of the whole, where `…+$` would be tried at every place. */
const core = /[\p{L}\p{N}_](?:.*[\p{L}\p{N}_])?/su;
const bolds = [/\*\*([^*]+)\*\*/g, /\*([^*]+)\*/g];
const stated = /\banswer\s+is\s*:?\s*([^.!?]+)/i;
const concluded = /\b(?:therefore|thus|so|hence)\b\s*,?\s*([^.!?]+)/i;

const emphasised = (text: string): string | undefined =>
  bolds
    .flatMap((bold) => Array.from(text.matchAll(bold), ([, inner = ""]) => inner.trim()))
    .find((inner) => inner.length > 2 && wordy.test(inner));

/** What a pattern captures, without punctuation at its ends, if it has at least `least` characters. */
const captured = (pattern: RegExp, text: string, least: number): string | undefined => {
  const found = pattern.exec(text)?.[1];
  const words = found === undefined ? undefined : (core.exec(found)?.[0] ?? "");
  return words !== undefined && words.length >= least ? words : undefined;
};

/** `text` without its thoughts; one that does not end stays. */
const withoutThoughts = (text: string): string => {
  const [open, close] = ["<think>", "</think>"];
  const kept: string[] = [];
  let at = 0;
  for (;;) {
    const from = text.indexOf(open, at);
    const end = from < 0 ? -1 : text.indexOf(close, from);
    if (end < 0) return [...kept, text.slice(at)].join("");
    kept.push(text.slice(at, from));
    at = end + close.length;
  }
};

/** What the first `\boxed{…}` holds that is not empty. */
const boxedIn = (text: string): string | undefined => {
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

export const answerIn = (reply: string): string => {
  const text = withoutThoughts(reply).replace(/\s+/g, " ").trim();
  return (
    boxedIn(text)?.trim() ??
    emphasised(text) ??
    captured(stated, text, 1) ??
    captured(concluded, text, 4) ??
    firstSentence(text) ??
    text.slice(0, 100).trim()
  );
};
