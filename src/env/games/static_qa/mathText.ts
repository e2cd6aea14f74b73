/**
 * Normal forms of answers, by pure and total functions. `condense` is RAGEN's rule: letters in lower case, no white space. `withoutTypesetting`
 * also removes dollar signs, \boxed, \left and a full stop; `numberOf` reads the rest as a number if it is one.
 */

export const condense = (text: string): string => text.replace(/\s+/g, "").toLowerCase();

/** Pairs of typesetting that enclose a text and do not change its value. */
const wrappers: readonly (readonly [open: string, close: string])[] = [
  ["\\boxed{", "}"],
  ["\\text{", "}"],
  ["\\mathrm{", "}"],
  ["\\(", "\\)"],
  ["\\[", "\\]"],
  ["$$", "$$"],
  ["$", "$"],
];

/** True if every brace in a text has its partner in the text. */
const isBalanced = (text: string): boolean => {
  let depth = 0;
  for (const [brace] of text.matchAll(/[{}]/g)) {
    depth += brace === "{" ? 1 : -1;
    if (depth < 0) return false;
  }
  return depth === 0;
};

/** The most wrappers that are removed, so that no answer takes long. */
const mostWrapped = 16;

const unwrap = (text: string): string => {
  let inner = text.trim();
  for (let again = true, left = mostWrapped; again && left > 0; left--) {
    again = false;
    for (const [open, close] of wrappers) {
      if (inner.length < open.length + close.length || !inner.startsWith(open) || !inner.endsWith(close)) continue;
      const content = inner.slice(open.length, inner.length - close.length);
      // The closing brace must belong to the opening one: \text{a}+\text{b} is not wrapped.
      if (close === "}" && !isBalanced(content)) continue;
      inner = content.trim();
      again = true;
    }
  }
  return inner;
};

export const withoutTypesetting = (text: string): string =>
  condense(
    unwrap(text.replace(/\.\s*$/, ""))
      .replace(/\\(?:left|right)(?![a-zA-Z])|\\[!,;: ]/g, "")
      .replaceAll("{,}", ",")
      .replaceAll("\u2212", "-")
      .replace(/\\[dt]frac/g, "\\frac"),
  ).replace(/^\(([a-z])\)$/, "$1");

const decimal = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/;
const grouped = /^[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?$/;

const decimalOf = (text: string): number | null => {
  if (decimal.test(text)) return Number(text);
  return grouped.test(text) ? Number(text.replaceAll(",", "")) : null;
};

const quotient = (above: string, below: string): number | null => {
  const [a, b] = [decimalOf(above), decimalOf(below)];
  return a === null || b === null || b === 0 ? null : a / b;
};

/**
 * The number that a text without typesetting writes: a decimal, also with commas between thousands, or a fraction (a/b, \frac{a}{b}). A sign of
 * currency, per cent or degrees is a unit and does not count. Null if the text is no number.
 */
export const numberOf = (text: string): number | null => {
  const amount = text.replace(/^([-+]?)\\?[$£€]/, "$1").replace(/(?:\\?%|\^?\\circ|\^\{\\circ\}|°)$/, "");
  const plain = decimalOf(amount);
  if (plain !== null) return plain;
  const slashed = /^([^/]+)\/([^/]+)$/.exec(amount);
  if (slashed !== null) {
    const [, over = "", under = ""] = slashed;
    return quotient(over, under);
  }
  const stacked = /^([-+]?)\\frac\{([^{}]+)\}\{([^{}]+)\}$/.exec(amount);
  if (stacked === null) return null;
  const [, sign, over = "", under = ""] = stacked;
  const value = quotient(over, under);
  return value !== null && sign === "-" ? -value : value;
};
