/**
 * Parses arithmetic as a model writes it into a tree, and computes the exact value of a tree. The grammar has integers, + - * /, parentheses
 * and signs, as Python reads them; `3.` is 3, so that an answer may end with a full stop. Any text is read or refused, in time linear in
 * its length, and nothing is executed.
 */
import { apply, type Operator, type Rational, ratio, whole } from "./Rational.ts";

export type Expression =
  | { readonly _tag: "Integer"; readonly value: bigint }
  | { readonly _tag: "Negation"; readonly of: Expression }
  | { readonly _tag: "Operation"; readonly operator: Operator; readonly left: Expression; readonly right: Expression };

/** A longer text is refused. The limit bounds the depth of the tree and the digits of its value. */
export const maxLength = 256;

const token = /\s*(?:(\d+)(?:\.(?!\d))?|([-+*/()]))/y;

/** The numbers and signs of a text in order; null if the text has anything else. */
const tokenize = (text: string): readonly string[] | null => {
  const trimmed = text.trimEnd();
  const parts: string[] = [];
  for (token.lastIndex = 0; token.lastIndex < trimmed.length; ) {
    const match = token.exec(trimmed);
    if (match === null) return null;
    parts.push(match[1] ?? match[2]!);
  }
  return parts;
};

/** The tree of a text, or null if it is no expression or too long. */
export const parseExpression = (text: string): Expression | null => {
  const parts = text.length > maxLength ? null : tokenize(text);
  if (parts === null) return null;
  let at = 0;

  const chain = (signs: readonly string[], part: () => Expression | null): Expression | null => {
    let left = part();
    while (left !== null && signs.includes(parts[at]!)) {
      const operator = parts[at++] as Operator;
      const right = part();
      left = right === null ? null : { _tag: "Operation", operator, left, right };
    }
    return left;
  };
  const sum = (): Expression | null => chain(["+", "-"], product);
  const product = (): Expression | null => chain(["*", "/"], factor);
  const factor = (): Expression | null => {
    const part = parts[at++];
    if (part === undefined) return null;
    if (part === "+") return factor();
    if (part === "-") {
      const operand = factor();
      return operand === null ? null : { _tag: "Negation", of: operand };
    }
    if (part === "(") {
      const inner = sum();
      return inner !== null && parts[at++] === ")" ? inner : null;
    }
    return /^(0+|[1-9]\d*)$/.test(part) ? { _tag: "Integer", value: BigInt(part) } : null;
  };

  const tree = sum();
  return at === parts.length ? tree : null;
};

/** The value of a tree; null if it divides by zero. `visit` is called for every operation after its parts, with all three values. */
export const evaluate = (
  tree: Expression,
  visit: (operator: Operator, left: Rational, right: Rational, value: Rational) => void = () => {},
): Rational | null => {
  switch (tree._tag) {
    case "Integer":
      return whole(tree.value);
    case "Negation": {
      const operand = evaluate(tree.of, visit);
      return operand === null ? null : ratio(-operand.numerator, operand.denominator);
    }
    case "Operation": {
      const left = evaluate(tree.left, visit);
      const right = left === null ? null : evaluate(tree.right, visit);
      if (left === null || right === null) return null;
      const value = apply(tree.operator, left, right);
      if (value !== null) visit(tree.operator, left, right, value);
      return value;
    }
  }
};
