/**
 * Writes a question for a small model: printable ASCII on one line, of at most 45 words. The middle is cut, because the facts tend to come first
 * and the question last.
 */

const maxWords = 45;

const spelled: Readonly<Record<string, string>> = {
  "\u2018": "'",
  "\u2019": "'",
  "\u201c": '"',
  "\u201d": '"',
  "\u2013": "-",
  "\u2014": "-",
  "\u2212": "-",
  "\u00d7": "*",
  "\u00f7": "/",
  "\u2264": "<=",
  "\u2265": ">=",
  "\u2260": "!=",
  "\u221a": "sqrt",
  "\u03c0": "pi",
  "\u2026": "...",
  "\u00b0": " degrees",
};

const ascii = (text: string): string =>
  text
    .replace(/[\u0080-\uffff]/g, (character) => spelled[character] ?? character)
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .replace(/[^\x20-\x7e\s]+/g, "?");

export const compactText = (text: string): string => {
  const words = ascii(text).trim().split(/\s+/);
  if (words.length <= maxWords) return words.join(" ");
  const half = (maxWords - 1) / 2;
  return [...words.slice(0, half), "...", ...words.slice(-half)].join(" ");
};
