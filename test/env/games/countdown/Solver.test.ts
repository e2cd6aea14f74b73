/** The solver's expressions are right, shortest, and found wherever there is one: against all texts of a shape, by brute force. */
import { describe, expect, it } from "vitest";
import { evaluate, parseExpression } from "../../../../src/env/games/countdown/Expression.ts";
import { type Operator, operators, text } from "../../../../src/env/games/countdown/Rational.ts";
import { shortestExpression } from "../../../../src/env/games/countdown/Solver.ts";
import { instanceOf } from "../../contract/players.ts";

const permutations = <A>(items: readonly A[]): readonly (readonly A[])[] =>
  items.length === 0
    ? [[]]
    : items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));

const worth = (written: string): string => {
  const value = evaluate(parseExpression(written)!);
  return value === null ? "" : text(value);
};

/** Every way to enclose three or four numbers: `n` for a number, `o` for an operator. */
const shapes: Readonly<Record<number, readonly string[]>> = {
  3: ["n o n o n", "(n o n) o n", "n o (n o n)"],
  4: [
    ...["n o n o n o n", "(n o n) o n o n", "n o (n o n) o n", "n o n o (n o n)", "(n o n) o (n o n)"],
    ...["(n o n o n) o n", "n o (n o n o n)"],
    ...["((n o n) o n) o n", "(n o (n o n)) o n", "n o ((n o n) o n)", "n o (n o (n o n))"],
  ],
};

const choices = (count: number, from: readonly Operator[]): readonly (readonly Operator[])[] =>
  count === 0 ? [[]] : choices(count - 1, from).flatMap((rest) => from.map((operator) => [...rest, operator]));

/** The least length of a text for every value that some text of the numbers has. */
const shortestLengths = (numbers: readonly number[], from: readonly Operator[]): ReadonlyMap<string, number> => {
  const lengths = new Map<string, number>();
  for (const order of permutations(numbers)) {
    for (const chosen of choices(numbers.length - 1, from)) {
      for (const shape of shapes[numbers.length]!) {
        let number = 0;
        let operator = 0;
        const written = shape.replace(/[no]/g, (kind) =>
          kind === "n" ? String(order[number++]) : chosen[operator++]!,
        );
        const value = worth(written);
        if (value === "") continue;
        lengths.set(value, Math.min(lengths.get(value) ?? Infinity, written.length));
      }
    }
  }
  return lengths;
};

/** Compares the solver with brute force over all targets from 0 to `most`. */
const expectShortest = (numbers: readonly number[], from: readonly Operator[], most: number): void => {
  const lengths = shortestLengths(numbers, from);
  for (let target = 0; target <= most; target++) {
    const found = shortestExpression(numbers, target, from);
    expect([target, found?.length]).toEqual([target, lengths.get(String(target))]);
    if (found === null) continue;
    expect(worth(found)).toBe(String(target));
    const used = Array.from(found.matchAll(/\d+/g), ([digits]) => Number(digits));
    expect(used.sort((a, b) => a - b)).toEqual([...numbers].sort((a, b) => a - b));
  }
};

describe("the solver", () => {
  it.each([
    ["a sum before a difference", [3, 5, 2], 4, "+-", "5 + 2 - 3"],
    ["the given order", [44, 19, 35], 98, "+-", "44 + 19 + 35"],
    ["no product where signs do", [44, 19, 35], 98, "+-*/", "44 + 19 + 35"],
    ["fractions on the way", [1, 5, 5, 5], 24, "+-*/", "5 * (5 - 1 / 5)"],
    ["nested fractions", [8, 3, 8, 3], 24, "+-*/", "8 / (3 - 8 / 3)"],
    ["a quotient", [5, 4, 100], 5, "*/", "100 / 5 / 4"],
    ["no way at all", [3, 5, 2], 77, "+-*/", null],
    ["two numbers", [6, 3], 2, "/", "6 / 3"],
    ["the same number twice", [7, 7, 7], 7, "+-", "7 + 7 - 7"],
  ])("finds %s", (_, numbers, target, from, solution) => {
    expect(
      shortestExpression(
        numbers,
        target,
        operators.filter((operator) => from.includes(operator)),
      ),
    ).toBe(solution);
  });

  it("stays positive on the way where signs are enough", () => {
    const random = instanceOf(3);
    for (let round = 0; round < 50; round++) {
      const numbers = Array.from({ length: 4 }, () => 1 + random.int(99));
      const target = Math.abs(numbers.reduce((sum, number) => (random.int(2) === 0 ? sum + number : sum - number), 0));
      const found = shortestExpression(numbers, target, ["+", "-"])!;
      evaluate(parseExpression(found)!, (_operator, _left, _right, value) => expect(value.numerator >= 0n).toBe(true));
    }
  });

  it("is as short as any text of three numbers", () => {
    const random = instanceOf(1);
    for (let round = 0; round < 6; round++) {
      const numbers = Array.from({ length: 3 }, () => 1 + random.int(20));
      expectShortest(numbers, operators, 60);
    }
  });

  it("is as short as any text of four numbers, by signs", () => {
    const random = instanceOf(2);
    for (let round = 0; round < 3; round++) {
      const numbers = Array.from({ length: 4 }, () => 1 + random.int(40));
      expectShortest(numbers, ["+", "-"], 99);
    }
  });

  it("is as short as any text of four numbers", () => {
    expectShortest([2, 3, 7, 8], operators, 24);
  });
});
