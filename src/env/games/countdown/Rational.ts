/** Exact fractions of any size. Invariant: the denominator is positive and shares no factor with the numerator. */

export interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

const greatestCommonDivisor = (a: bigint, b: bigint): bigint => {
  let [x, y] = [a < 0n ? -a : a, b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
};

/** `numerator / denominator` in lowest terms; null when the denominator is zero. */
export const ratio = (numerator: bigint, denominator: bigint): Rational | null => {
  if (denominator === 1n) return { numerator, denominator };
  if (denominator === 0n) return null;
  if (denominator < 0n) return ratio(-numerator, -denominator);
  const common = greatestCommonDivisor(numerator, denominator);
  return { numerator: numerator / common, denominator: denominator / common };
};

export const whole = (value: bigint | number): Rational => ({ numerator: BigInt(value), denominator: 1n });

export const operators = ["+", "-", "*", "/"] as const;
export type Operator = (typeof operators)[number];

/** `a operator b`; null for a division by zero. */
export const apply = (operator: Operator, a: Rational, b: Rational): Rational | null => {
  switch (operator) {
    case "+":
      return ratio(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator);
    case "-":
      return ratio(a.numerator * b.denominator - b.numerator * a.denominator, a.denominator * b.denominator);
    case "*":
      return ratio(a.numerator * b.numerator, a.denominator * b.denominator);
    case "/":
      return ratio(a.numerator * b.denominator, a.denominator * b.numerator);
  }
};

export const equals = (a: Rational, b: Rational): boolean =>
  a.numerator === b.numerator && a.denominator === b.denominator;

/** Writes a fraction as `7`, `-7` or `7/2`. Equal fractions have equal texts. */
export const text = ({ numerator, denominator }: Rational): string =>
  denominator === 1n ? String(numerator) : `${numerator}/${denominator}`;
