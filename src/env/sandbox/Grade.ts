/**
 * Grades one submission by its tests: it makes the job that a sandbox runs, and compares the report with the expected outputs, without side
 * effects. Invariant: expected outputs never enter a job.
 */
import type { Job, Limits, Outcome, Report } from "./Job.ts";
import { isSameJson, isSameText } from "./sameOutput.ts";

export interface Test {
  /** The function's arguments as a JSON array, or the program's standard input. */
  readonly input: string;
  /** The outputs that are right: results as JSON, or texts. */
  readonly outputs: readonly [string, ...string[]];
}

/** The tests and the limits by which submissions to one task are graded. */
export interface TestSuite {
  /** The function to call; null runs the code as a program that reads its input. */
  readonly entry: string | null;
  /** If true, the names that competition code takes for granted need no import. */
  readonly preamble: boolean;
  /** The list has at least one test. */
  readonly tests: readonly Test[];
  readonly limits: Limits;
  /** If true, one test that runs out of time fails all tests. */
  readonly timeoutFailsAll: boolean;
}

export interface Grade {
  /** The answer had code in it. */
  readonly valid: boolean;
  readonly passed: number;
  readonly total: number;
  /** The number of tests that ran out of their own time, or out of the job's. */
  readonly timedOut: number;
  readonly compileError: boolean;
  /** The reason why the first failing test fails, without its expected output; empty if no test fails. */
  readonly note: string;
}

export const hasPassedAll = ({ passed, total }: Grade): boolean => passed === total;

export const jobOf = ({ entry, limits, preamble, tests, timeoutFailsAll }: TestSuite, code: string): Job => ({
  code,
  entry,
  preamble,
  inputs: tests.map(({ input }) => input),
  limits,
  stopAtTimeout: timeoutFailsAll,
});

export const gradeWithoutCode = ({ tests }: TestSuite): Grade => ({
  valid: false,
  passed: 0,
  total: tests.length,
  timedOut: 0,
  compileError: false,
  note: "there is no code in the answer",
});

const hasPassed = ({ entry }: TestSuite, { outputs }: Test, outcome: Outcome | undefined): boolean => {
  if (outcome?._tag !== "Answered") return false;
  const same = entry === null ? isSameText : isSameJson;
  return outputs.some((output) => same(outcome.text, output));
};

const reasonTexts = {
  error: "fails",
  timeout: "takes too long",
  memory: "takes too much memory",
  output: "says too much",
} as const;

const noteOf = (index: number, outcome: Outcome | undefined): string => {
  if (outcome?._tag !== "Failed") return `test ${index + 1} has a wrong result`;
  const { message, reason } = outcome;
  return `test ${index + 1} ${reasonTexts[reason]}${reason === "error" && message !== "" ? `: ${message}` : ""}`;
};

export const gradeReport = (suite: TestSuite, report: Report): Grade => {
  const { tests, timeoutFailsAll } = suite;
  const total = tests.length;
  if (report._tag === "Uncompilable") {
    return { valid: true, passed: 0, total, timedOut: 0, compileError: true, note: report.message };
  }
  const { outcomes } = report;
  const passes = tests.map((test, at) => hasPassed(suite, test, outcomes[at]));
  const timedOut = outcomes.filter((outcome) => outcome._tag === "Failed" && outcome.reason === "timeout").length;
  const passed = timeoutFailsAll && timedOut > 0 ? 0 : passes.filter(Boolean).length;
  const firstFailure = passes.indexOf(false);
  const note = firstFailure < 0 ? "" : noteOf(firstFailure, outcomes[firstFailure]);
  return { valid: true, passed, total, timedOut, compileError: false, note };
};
