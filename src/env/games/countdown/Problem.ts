/**
 * Draws problems of Countdown: numbers and a target that they can make. A solution is drawn first (two of the remaining values are
 * joined by an operator until one is left), so every problem is solvable with the configured operators, by whole steps only.
 */
import type { Random } from "../../../domain/Random.ts";
import { NoInstance } from "../../contract/NoInstance.ts";
import { type CountdownConfig, operationsOf } from "./CountdownConfig.ts";
import type { Operator } from "./Rational.ts";

export interface Problem {
  readonly target: number;
  /** In the order they are shown. */
  readonly numbers: readonly number[];
}

const mostDraws = 100_000;

/** `a operator b` where it is whole and exact, else NaN. */
const join = (operator: Operator, a: number, b: number): number => {
  const value = operator === "+" ? a + b : operator === "-" ? a - b : operator === "*" ? a * b : a / b;
  return Number.isSafeInteger(value) ? value : Number.NaN;
};

/** The value of the numbers joined at random. */
const drawValue = (numbers: readonly number[], operations: readonly Operator[], random: Random): number => {
  const left = [...numbers];
  const take = (): number => left.splice(random.int(left.length), 1)[0]!;
  while (left.length > 1) left.push(join(random.pick(operations), take(), take()));
  return left[0]!;
};

/** Throws NoInstance when too many draws miss the target range. */
export const drawProblem = (config: CountdownConfig, random: Random): Problem => {
  const { min_number, max_number, min_numbers, max_numbers, min_target, max_target } = config;
  const operations = operationsOf(config);
  for (let draw = 0; draw < mostDraws; draw++) {
    const count = min_numbers + random.int(max_numbers - min_numbers + 1);
    const numbers = Array.from({ length: count }, () => min_number + random.int(max_number - min_number + 1));
    const target = drawValue(numbers, operations, random);
    if (target >= min_target && target <= max_target) return { target, numbers };
  }
  throw new NoInstance({ env_type: "countdown", draws: mostDraws });
};
