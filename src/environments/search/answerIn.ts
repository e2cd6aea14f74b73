/**
 * Finds the answer in free text: what a model that ignores `finish[…]` most likely meant. Pure and total.
 * The order is RAGEN's: boxed, bold, "answer is", a conclusion, the first sentence, the first 100 characters. Differs from RAGEN in that
 * "so" counts as a word only (there it is found inside "Robinson") and a stated answer may be as short as "yes" or "42".
 */

const wordy = /[\p{L}\p{N}_]/u;
const edges = /^[^\p{L}\p{N}_]+|[^\p{L}\p{N}_]+$/gu;

const boxed = /\\boxed\{([^}]+)\}/;
const bolds = [/\*\*([^*]+)\*\*/g, /\*([^*]+)\*/g];
const stated = /\banswer\s+is\s*:?\s*([^.!?]+)/i;
const concluded = /\b(?:therefore|thus|so|hence)\b\s*,?\s*([^.!?]+)/i;

const emphasised = (text: string): string | undefined =>
  bolds
    .flatMap((bold) => Array.from(text.matchAll(bold), ([, inner = ""]) => inner.trim()))
    .find((inner) => inner.length > 2 && wordy.test(inner));

/** What a pattern captures, without punctuation at its ends, if it has at least `least` characters. */
const captured = (pattern: RegExp, text: string, least: number): string | undefined => {
  const found = pattern.exec(text)?.[1]?.replace(edges, "");
  return found !== undefined && found.length >= least ? found : undefined;
};

const firstSentence = (text: string): string | undefined =>
  text
    .split(/[.!?]+/)
    .map((sentence) => sentence.trim())
    .find((sentence) => sentence.length > 5);

export const answerIn = (reply: string): string => {
  const text = reply
    .replace(/<think>.*?<\/think>/gs, "")
    .replace(/\s+/g, " ")
    .trim();
  return (
    boxed.exec(text)?.[1]?.trim() ??
    emphasised(text) ??
    captured(stated, text, 1) ??
    captured(concluded, text, 4) ??
    firstSentence(text) ??
    text.slice(0, 100).trim()
  );
};
