/**
 * Judges one submission by its tests: makes the job that a sandbox runs, and compares the report with the expected outputs. Pure. Expected
 * outputs are known here and never enter a job.
 */
import type { Job, Limits, Outcome, Report } from "./Job.ts";
import { isSameJson, isSameText } from "./sameOutput.ts";

export interface Test {
  /** The arguments as a JSON array, or the standard input. */
  readonly input: string;
  /** Any of them is right: a result as JSON, or a text. */
  readonly outputs: readonly [string, ...string[]];
}

/** What submissions to one task are judged by. */
export interface TestSuite {
  /** The function to call; null runs the code as a program that reads its input. */
  readonly entry: string | null;
  /** Whether the names that competition code takes for granted are there without an import. */
  readonly preamble: boolean;
  /** At least one. */
  readonly tests: readonly Test[];
  readonly limits: Limits;
  /** Whether one test out of time fails them all. */
  readonly timeoutFailsAll: boolean;
}

export interface Grade {
  /** There was code in the answer. */
  readonly valid: boolean;
  readonly passed: number;
  readonly total: number;
  /** Tests that ran out of their own time, or out of the job's. */
  readonly timedOut: number;
  readonly compileError: boolean;
  /** Why the first failing test fails, without its expected output; empty where none does. */
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

/** The verdict on an answer without code. */
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
