/** Problems lie in their ranges and can be solved with the configured operators. */
import { describe, expect, it } from "vitest";
import { NoInstance } from "../../../../src/env/contract/NoInstance.ts";
import { CountdownConfig, operationsOf } from "../../../../src/env/games/countdown/CountdownConfig.ts";
import { drawProblem } from "../../../../src/env/games/countdown/Problem.ts";
import { shortestExpression } from "../../../../src/env/games/countdown/Solver.ts";
import { configsOf } from "../../../build/config.ts";
import { instanceOf } from "../../contract/players.ts";

const configWith = configsOf(CountdownConfig);
const draws = (config: CountdownConfig, count: number) =>
  Array.from({ length: count }, (_, seed) => drawProblem(config, instanceOf(10_000 + seed)));

/** RAGEN's test of its data rows: some choice of a sign for every number sums to the target. */
const signsReach = (numbers: readonly number[], target: number): boolean =>
  numbers.length === 0
    ? target === 0
    : [1, -1].some((sign) => signsReach(numbers.slice(1), target - sign * numbers[0]!));

describe("a problem", () => {
  it("is one of those RAGEN keeps: some signs make the target", () => {
    for (const { numbers, target } of draws(configWith(), 1000)) expect(signsReach(numbers, target)).toBe(true);
  });

  it("has three or four numbers of one or two digits, and a target of two", () => {
    const problems = draws(configWith(), 2000);
    for (const { numbers, target } of problems) {
      expect([3, 4]).toContain(numbers.length);
      expect(target >= 10 && target <= 99).toBe(true);
      expect(numbers.every((number) => Number.isInteger(number) && number >= 1 && number <= 99)).toBe(true);
    }
    const four = problems.filter(({ numbers }) => numbers.length === 4).length / problems.length;
    expect(four).toBeGreaterThan(0.4);
    expect(four).toBeLessThan(0.6);
    expect(new Set(problems.map(({ target }) => target)).size).toBe(90);
  });

  it("follows its keys", () => {
    const config = configWith({
      min_numbers: 5,
      max_numbers: 5,
      min_number: 2,
      max_number: 4,
      min_target: 7,
      max_target: 8,
    });
    for (const { numbers, target } of draws(config, 200)) {
      expect(numbers.length).toBe(5);
      expect(numbers.every((number) => number >= 2 && number <= 4)).toBe(true);
      expect([7, 8]).toContain(target);
    }
  });

  it.each(["+", "-", "*", "/", "+-", "*/", "+-*/"])("can be solved with %s", (operations) => {
    const small = operations === "*" ? { max_number: 9, max_target: 999 } : { min_target: 1, max_target: 99 };
    const config = configWith({ operations, ...small });
    for (const { numbers, target } of draws(config, 25)) {
      expect(shortestExpression(numbers, target, operationsOf(config))).not.toBeNull();
    }
  });

  it("is given up in bounded time where no draw meets a target", () => {
    const config = configWith({ operations: "+", min_number: 50, min_target: 10, max_target: 99 });
    expect(() => drawProblem(config, instanceOf(1))).toThrow(NoInstance);
  });
});

describe("the keys", () => {
  it.each([
    [{ min_numbers: 4, max_numbers: 3 }, "min_numbers"],
    [{ min_numbers: 5 }, "min_numbers"],
    [{ max_numbers: 2 }, "max_numbers"],
    [{ min_number: 50, max_number: 10 }, "min_number"],
    [{ min_target: 100 }, "min_target"],
    [{ operations: "" }, "operations"],
    [{ operations: "+^" }, "operations"],
    [{ operations: "++" }, "operations"],
    [{ max_numbers: 7 }, "max_numbers"],
    [{ min_number: 0 }, "min_number"],
  ])("refuse %j", (keys, path) => {
    expect(() => configWith(keys)).toThrow(`${path}: `);
  });
});
