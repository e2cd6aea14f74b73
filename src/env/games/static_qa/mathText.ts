/**
 * Answers as texts and as numbers. `condensed` is RAGEN's rule: letters in lower case, no white space. `bare` also removes typesetting
 * (dollar signs, \boxed, \left, a full stop), and `numberOf` reads the rest as a number where it is one. Pure and total.
 */

export const condensed = (text: string): string => text.replace(/\s+/g, "").toLowerCase();

/** Wrappers that do not change their content. */
const wrappers: readonly (readonly [open: string, close: string])[] = [
  ["\\boxed{", "}"],
  ["\\text{", "}"],
  ["\\mathrm{", "}"],
  ["\\(", "\\)"],
  ["\\[", "\\]"],
  ["$$", "$$"],
  ["$", "$"],
];

/** Whether every brace in a text has its partner in it. */
const balanced = (text: string): boolean => {
  let depth = 0;
  for (const [brace] of text.matchAll(/[{}]/g)) {
    depth += brace === "{" ? 1 : -1;
    if (depth < 0) return false;
  }
  return depth === 0;
};

/** More wrappers are not removed, so that no answer takes long. */
const mostWrapped = 16;

const unwrapped = (text: string): string => {
  let inner = text.trim();
  for (let again = true, left = mostWrapped; again && left > 0; left--) {
    again = false;
    for (const [open, close] of wrappers) {
      if (inner.length < open.length + close.length || !inner.startsWith(open) || !inner.endsWith(close)) continue;
      const held = inner.slice(open.length, inner.length - close.length);
      // The closing brace must be the one of the opening: \text{a}+\text{b} is not wrapped.
      if (close === "}" && !balanced(held)) continue;
      inner = held.trim();
      again = true;
    }
  }
  return inner;
};

export const bare = (text: string): string =>
  condensed(
    unwrapped(text.replace(/\.\s*$/, ""))
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
 * The number a bare text is: a decimal, also with commas between thousands, or a fraction (a/b, \frac{a}{b}). A sign of currency, of per
 * cent or of degrees is a unit and does not count. Null where it is none.
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
