/** Rows of data files as tasks: our own, and DeepCoder-Preview's three notations of tests. */
import { Result } from "effect";
import { describe, expect, it } from "vitest";
import { taskOf } from "../../../../src/env/games/deepcoder/Task.ts";

const readTask = (row: Readonly<Record<string, unknown>>) =>
  Result.getOrThrow(taskOf({ problem: "p", tests: [], ...row }));
const problemOf = (row: Readonly<Record<string, unknown>>) => {
  const task = taskOf({ problem: "p", tests: [], ...row });
  return Result.isFailure(task) ? task.failure : expect.unreachable();
};

describe("a row of ours", () => {
  it("is a function where it names an entry", () => {
    const tests = [{ input: [1, "a"], output: "true" }];
    expect(readTask({ name: "n", entry: "f", parameters: ["a", "b"], examples: 5, tests })).toEqual({
      name: "n",
      problem: "p",
      entry: "f",
      parameters: ["a", "b"],
      starter: "",
      examples: 1,
      // A text is a text, also where it looks like a value.
      tests: [{ input: '[1,"a"]', outputs: ['"true"'] }],
    });
  });

  it("is a program where it does not", () => {
    const task = readTask({ tests: [{ input: "1\n2\n", output: "3\n" }] });
    expect(task).toMatchObject({ entry: null, examples: 0, tests: [{ input: "1\n2\n", outputs: ["3\n"] }] });
  });
});

describe("a row of DeepCoder-Preview", () => {
  it("has a list of tests of programs, as JSON text", () => {
    const tests = JSON.stringify([{ type: "stdin_stdout", input: "1", output: "2" }]);
    expect(readTask({ tests })).toMatchObject({ entry: null, tests: [{ input: "1", outputs: ["2"] }] });
  });

  it("has function calls, whose results may be wrapped", () => {
    const tests = [{ type: "function_call", fn_name: "f", input: [[1, 2]], output: [3] }];
    expect(readTask({ tests })).toMatchObject({ entry: "f", tests: [{ input: "[[1,2]]", outputs: ["[3]", "3"] }] });
  });

  it("has lists of inputs and of outputs", () => {
    const tests = { inputs: ["1\n", "2\n"], outputs: ["1", "4"] };
    expect(readTask({ tests }).tests).toEqual([
      { input: "1\n", outputs: ["1"] },
      { input: "2\n", outputs: ["4"] },
    ]);
    const called = { fn_name: "f", inputs: [[1]], outputs: [[1]] };
    expect(readTask({ tests: called })).toMatchObject({ entry: "f", tests: [{ input: "[1]", outputs: ["[1]", "1"] }] });
  });

  it("has arguments a line each, results as JSON and the name in its metadata", () => {
    const row = {
      tests: JSON.stringify([{ testtype: "functional", input: '[1, 2]\n"x"', output: "12345678901234567890" }]),
      metadata: JSON.stringify({ func_name: "solve" }),
      starter: "class Solution:\n    def solve(self, a, b):\n        ",
    };
    expect(readTask(row)).toMatchObject({
      entry: "solve",
      starter: "class Solution:\n    def solve(self, a, b):",
      tests: [{ input: '[[1, 2],"x"]', outputs: ["12345678901234567890"] }],
    });
  });

  it("keeps numbers as they are written, however long and with their fractions", () => {
    const tests =
      '[{"type":"function_call","fn_name":"f","input":[12345678901234567891],"output":[[2.0,-9007199254740993]]}]';
    expect(readTask({ tests }).tests).toEqual([
      { input: "[12345678901234567891]", outputs: ["[[2.0,-9007199254740993]]", "[2.0,-9007199254740993]"] },
    ]);
  });

  it("has lines as lists in places", () => {
    expect(readTask({ tests: { inputs: [["1", "2"]], outputs: [["3", "4"]] } }).tests).toEqual([
      { input: "1\n2", outputs: ["3\n4"] },
    ]);
  });
});

describe("a row that cannot be used says why", () => {
  it.each([
    [{ tests: [] }, "no tests"],
    [{ tests: "not JSON" }, "tests are neither"],
    [{ tests: [{ input: "1" }] }, "tests are neither"],
    [{ tests: [{ testtype: "functional", input: "1", output: "1" }] }, "no name"],
    [{ entry: "a b", tests: [{ input: [], output: 1 }] }, "no name of a function"],
    [{ entry: "f", tests: [{ input: "{", output: 1 }] }, "test 1 cannot be read"],
    [{ tests: [{ input: 1, output: "1" }] }, "test 1 cannot be read"],
    [
      {
        tests: [
          { type: "stdin_stdout", input: "", output: "" },
          { type: "function_call", fn_name: "f", input: [], output: 1 },
        ],
      },
      "of a function and of a program",
    ],
  ])("%j", (row, why) => {
    expect(problemOf(row)).toContain(why);
  });
});
