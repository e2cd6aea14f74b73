/**
 * Finds the shortest expression that makes a target of all given numbers, each used once; null if there is none. The search is exhaustive, by
 * dynamic programming over the subsets of the numbers. Among equally short texts the first differing operator decides, in the order * + - /,
 * so that sums stay positive on the way. After that the given order of the numbers decides.
 */
import { apply, equals, type Operator, type Rational, text, whole } from "./Rational.ts";

/** A way to write a value with one subset of the numbers. */
interface WrittenValue {
  readonly text: string;
  /** The operators from left to right; their characters sort as * + - /. */
  readonly operators: string;
  /** The positions of the numbers from left to right, a digit each. */
  readonly order: string;
}

/** The best texts of one value, by their outermost operator, which decides on parentheses. */
interface Reached {
  readonly value: Rational;
  number?: WrittenValue;
  sum?: WrittenValue;
  product?: WrittenValue;
}

const outermosts = ["number", "sum", "product"] as const;
type Outermost = (typeof outermosts)[number];

const better = (a: WrittenValue, b: WrittenValue | undefined): boolean => {
  if (b === undefined) return true;
  if (a.text.length !== b.text.length) return a.text.length < b.text.length;
  if (a.operators !== b.operators) return a.operators < b.operators;
  return a.order !== b.order ? a.order < b.order : a.text < b.text;
};

const isSum = (operator: Operator): boolean => operator === "+" || operator === "-";

/**
 * True if a part needs parentheses on its side. `a + (b - c)` and `a * (b / c)` need none: read from left to right they have the same value
 * without them.
 */
const needsParentheses = (operator: Operator, side: "left" | "right", part: Outermost): boolean => {
  if (part === "number") return false;
  if (isSum(operator)) return side === "right" && operator === "-" && part === "sum";
  return part === "sum" || (side === "right" && operator === "/");
};

const join = (operator: Operator, left: Reached, right: Reached): WrittenValue | undefined => {
  let best: WrittenValue | undefined;
  for (const a of outermosts) {
    const first = left[a];
    if (first === undefined) continue;
    for (const b of outermosts) {
      const second = right[b];
      if (second === undefined) continue;
      const from = needsParentheses(operator, "left", a) ? `(${first.text})` : first.text;
      const to = needsParentheses(operator, "right", b) ? `(${second.text})` : second.text;
      const written = {
        text: `${from} ${operator} ${to}`,
        operators: first.operators + operator + second.operators,
        order: first.order + second.order,
      };
      if (better(written, best)) best = written;
    }
  }
  return best;
};

export const shortestExpression = (
  numbers: readonly number[],
  target: number,
  operations: readonly Operator[],
): string | null => {
  const fullSet = 2 ** numbers.length - 1;
  const goal = whole(target);
  /** The values that each subset reaches, by the text of the value. */
  const reached: Map<string, Reached>[] = Array.from({ length: fullSet + 1 }, () => new Map());
  for (const [at, number] of numbers.entries()) {
    const value = whole(number);
    reached[1 << at]!.set(text(value), { value, number: { text: String(number), operators: "", order: String(at) } });
  }
  for (let subset = 1; subset <= fullSet; subset++) {
    const values = reached[subset]!;
    for (let left = (subset - 1) & subset; left > 0; left = (left - 1) & subset) {
      for (const a of reached[left]!.values()) {
        for (const b of reached[subset ^ left]!.values()) {
          for (const operator of operations) {
            const value = apply(operator, a.value, b.value);
            if (value === null || (subset === fullSet && !equals(value, goal))) continue;
            const written = join(operator, a, b);
            if (written === undefined) continue;
            const key = text(value);
            let reachedValue = values.get(key);
            if (reachedValue === undefined) {
              reachedValue = { value };
              values.set(key, reachedValue);
            }
            const outermost = isSum(operator) ? "sum" : "product";
            if (better(written, reachedValue[outermost])) reachedValue[outermost] = written;
          }
        }
      }
    }
  }
  const atGoal = reached[fullSet]!.get(text(goal));
  if (atGoal === undefined) return null;
  let best: WrittenValue | undefined;
  for (const outermost of outermosts) {
    const written = atGoal[outermost];
    if (written !== undefined && better(written, best)) best = written;
  }
  return best?.text ?? null;
};
