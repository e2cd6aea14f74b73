/**
 * Draws problems of Countdown: numbers and a target that they can make. The solution is drawn first: an operator joins two of the remaining
 * values until one is left. So every problem is solvable with the configured operators, by whole steps only.
 */
import type { Random } from "../../../domain/Random.ts";
import { NoInstance } from "../../contract/NoInstance.ts";
import { type CountdownConfig, operationsOf } from "./CountdownConfig.ts";
import type { Operator } from "./Rational.ts";

export interface Problem {
  readonly target: number;
  /** The numbers in the order in which prompts show them. */
  readonly numbers: readonly number[];
}

const maxDraws = 100_000;

/** `a operator b` if it is whole and exact, else NaN. */
const combine = (operator: Operator, a: number, b: number): number => {
  const value = operator === "+" ? a + b : operator === "-" ? a - b : operator === "*" ? a * b : a / b;
  return Number.isSafeInteger(value) ? value : Number.NaN;
};

/** Joins the numbers at random, and gives their value. */
const drawValue = (numbers: readonly number[], operations: readonly Operator[], random: Random): number => {
  const left = [...numbers];
  const take = (): number => left.splice(random.int(left.length), 1)[0]!;
  while (left.length > 1) left.push(combine(random.pick(operations), take(), take()));
  return left[0]!;
};

/** Draws a problem. It throws NoInstance when too many draws miss the target range. */
export const drawProblem = (config: CountdownConfig, random: Random): Problem => {
  const { min_number, max_number, min_numbers, max_numbers, min_target, max_target } = config;
  const operations = operationsOf(config);
  for (let draw = 0; draw < maxDraws; draw++) {
    const count = min_numbers + random.int(max_numbers - min_numbers + 1);
    const numbers = Array.from({ length: count }, () => min_number + random.int(max_number - min_number + 1));
    const target = drawValue(numbers, operations, random);
    if (target >= min_target && target <= max_target) return { target, numbers };
  }
  throw new NoInstance({ env_type: "countdown", draws: maxDraws });
};
