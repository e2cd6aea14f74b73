/** What a report of outcomes is worth. */
import { describe, expect, it } from "vitest";
import { jobOf, noCode, solved, testsOf, verdictOf } from "../../../src/environments/deepcoder/Verdict.ts";
import { failed, type Outcome, type Reason, type Report } from "../../../src/sandbox/Job.ts";
import { configured, doubling, echoing } from "./configured.ts";

const said = (text: string): Outcome => ({ _tag: "Answered", text });
const ran = (...outcomes: Outcome[]): Report => ({ _tag: "Ran", outcomes });
const config = configured();

describe("a verdict", () => {
  it("counts the tests that pass", () => {
    const verdict = verdictOf(config, doubling, ran(said("2"), said("0"), said("6"), said("null")));
    expect(verdict).toMatchObject({ valid: true, passed: 3, total: 4, note: "test 3 has a wrong result" });
    expect(solved(verdict)).toBe(false);
    expect(solved(verdictOf(config, doubling, ran(said("2"), said("0"), said("-6"), said("null"))))).toBe(true);
  });

  it("compares texts of programs, and values of functions", () => {
    expect(verdictOf(config, echoing, ran(said("a\nb\n\n"), said("1"))).passed).toBe(2);
    expect(verdictOf(config, doubling, ran(said(" 2"), said("two"), said("-6.0"), said("None"))).passed).toBe(2);
  });

  it("takes any of the accepted outputs", () => {
    const task = { ...doubling, tests: [{ input: "[1]", outputs: ["[2]", "2"] }] };
    for (const text of ["2", "[2]"]) expect(verdictOf(config, task, ran(said(text))).passed).toBe(1);
  });

  it.each<[Reason, string]>([
    ["error", "test 1 fails: no"],
    ["timeout", "test 1 takes too long"],
    ["memory", "test 1 takes too much memory"],
    ["output", "test 1 says too much"],
  ])("says of a test that ends by %s why it did", (reason, note) => {
    expect(verdictOf(config, echoing, ran(failed(reason, "no"), said("1")))).toMatchObject({ passed: 1, note });
  });

  it("counts the tests out of time, and lets the others pass unless told otherwise", () => {
    const report = ran(said("2"), failed("timeout", ""), said("-6"), said("null"));
    expect(verdictOf(config, doubling, report)).toMatchObject({ passed: 3, timedOut: 1 });
    const strict = configured({ timeout_fails_all: true });
    expect(verdictOf(strict, doubling, report)).toMatchObject({ passed: 0, timedOut: 1 });
  });

  it("passes nothing of what does not compile", () => {
    const verdict = verdictOf(config, doubling, { _tag: "Uncompilable", message: "SyntaxError: no" });
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
    expect(verdictOf(config, doubling, ran()).passed).toBe(0);
  });

  it("is not valid where there is no code", () => {
    expect(noCode(config, doubling)).toMatchObject({ valid: false, passed: 0, total: 4 });
  });
});

describe("the job of an answer", () => {
  it("holds the inputs and no expected output", () => {
    const job = jobOf(config, { ...doubling, tests: [{ input: "[5]", outputs: ["98765"] }] }, "code");
    expect(job).toMatchObject({ code: "code", entry: "double", inputs: ["[5]"], preamble: false });
    expect(JSON.stringify(job)).not.toContain("98765");
  });

  it("runs the first max_tests", () => {
    expect(testsOf(doubling, configured({ max_tests: 2 }))).toHaveLength(2);
    expect(jobOf(configured({ max_tests: 3 }), doubling, "").inputs).toHaveLength(3);
    expect(testsOf(doubling, config)).toHaveLength(4);
  });

  it("has the configured limits", () => {
    const { limits } = jobOf(
      configured({ test_timeout: 3, total_timeout: 4, memory_mb: 16, output_kb: 2 }),
      echoing,
      "",
    );
    expect(limits).toEqual({ testMs: 3000, totalMs: 4000, memoryBytes: 16 * 2 ** 20, outputBytes: 2048 });
  });
});
