/** The verdict on a report of outcomes, and the job that is made of an answer. */
import { describe, expect, it } from "vitest";
import {
  gradeReport,
  gradeWithoutCode,
  hasPassedAll,
  jobOf,
  type Test,
  type TestSuite,
} from "../../../src/env/sandbox/Grade.ts";
import { type FailureReason, failed, type Outcome, type Report } from "../../../src/env/sandbox/Job.ts";

const said = (text: string): Outcome => ({ _tag: "Answered", text });
const ran = (...outcomes: Outcome[]): Report => ({ _tag: "Ran", outcomes });
const test = (input: string, output: string): Test => ({ input, outputs: [output] });
const limits = { testMs: 1000, totalMs: 5000, memoryBytes: 2 ** 28, outputBytes: 1000 };
const rest = { preamble: false, limits, timeoutFailsAll: false };
const doubling: TestSuite = {
  ...rest,
  entry: "double",
  tests: [test("[1]", "2"), test("[0]", "0"), test("[-3]", "-6"), test("[true]", "null")],
};
const echoing: TestSuite = { ...rest, entry: null, tests: [test("a\nb\n", "a\nb"), test("1\n", "1")] };

describe("a verdict", () => {
  it("counts the tests that pass", () => {
    const verdict = gradeReport(doubling, ran(said("2"), said("0"), said("6"), said("null")));
    expect(verdict).toMatchObject({ valid: true, passed: 3, total: 4, note: "test 3 has a wrong result" });
    expect(hasPassedAll(verdict)).toBe(false);
    expect(hasPassedAll(gradeReport(doubling, ran(said("2"), said("0"), said("-6"), said("null"))))).toBe(true);
  });

  it("compares texts of programs, and values of functions", () => {
    expect(gradeReport(echoing, ran(said("a\nb\n\n"), said("1"))).passed).toBe(2);
    expect(gradeReport(doubling, ran(said(" 2"), said("two"), said("-6.0"), said("None"))).passed).toBe(2);
  });

  it("takes any of the accepted outputs", () => {
    const either: TestSuite = { ...doubling, tests: [{ input: "[1]", outputs: ["[2]", "2"] }] };
    for (const text of ["2", "[2]"]) expect(gradeReport(either, ran(said(text))).passed).toBe(1);
  });

  it.each<[FailureReason, string]>([
    ["error", "test 1 fails: no"],
    ["timeout", "test 1 takes too long"],
    ["memory", "test 1 takes too much memory"],
    ["output", "test 1 says too much"],
  ])("says of a test that ends by %s why it did", (reason, note) => {
    expect(gradeReport(echoing, ran(failed(reason, "no"), said("1")))).toMatchObject({ passed: 1, note });
  });

  it("counts the tests out of time, and lets the others pass unless told otherwise", () => {
    const report = ran(said("2"), failed("timeout", ""), said("-6"), said("null"));
    expect(gradeReport(doubling, report)).toMatchObject({ passed: 3, timedOut: 1 });
    expect(gradeReport({ ...doubling, timeoutFailsAll: true }, report)).toMatchObject({ passed: 0, timedOut: 1 });
  });

  it("passes nothing of what does not compile", () => {
    const verdict = gradeReport(doubling, { _tag: "Uncompilable", message: "SyntaxError: no" });
    expect(verdict).toEqual({
      valid: true,
      passed: 0,
      total: 4,
      timedOut: 0,
      compileError: true,
      note: "SyntaxError: no",
    });
  });

  it("passes nothing where no outcome came", () => {
    expect(gradeReport(doubling, ran()).passed).toBe(0);
  });

  it("is not valid where there is no code", () => {
    expect(gradeWithoutCode(doubling)).toMatchObject({ valid: false, passed: 0, total: 4 });
  });
});

describe("the job of an answer", () => {
  it("holds the inputs and no expected output", () => {
    const job = jobOf({ ...doubling, tests: [test("[5]", "98765")] }, "code");
    expect(job).toEqual({
      code: "code",
      entry: "double",
      inputs: ["[5]"],
      preamble: false,
      limits,
      stopAtTimeout: false,
    });
  });

  it("ends at a test out of time where that fails them all", () => {
    expect(jobOf({ ...doubling, timeoutFailsAll: true }, "").stopAtTimeout).toBe(true);
  });
});
