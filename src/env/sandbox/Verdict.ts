/**
 * Judges one submission by its tests: makes the job that a sandbox runs, and compares the report with the expected outputs. Pure. Expected
 * outputs are known here and never enter a job.
 */
import type { Job, Limits, Outcome, Report } from "./Job.ts";
import { sameText, sameValue } from "./sameOutput.ts";

export interface Test {
  /** The arguments as a JSON array, or the standard input. */
  readonly input: string;
  /** Any of them is right: a result as JSON, or a text. */
  readonly outputs: readonly [string, ...string[]];
}

/** What submissions to one task are judged by. */
export interface Exam {
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

export interface Verdict {
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

export const solved = ({ passed, total }: Verdict): boolean => passed === total;

export const jobOf = ({ entry, limits, preamble, tests, timeoutFailsAll }: Exam, code: string): Job => ({
  code,
  entry,
  preamble,
  inputs: tests.map(({ input }) => input),
  limits,
  stopAtTimeout: timeoutFailsAll,
});

/** The verdict on an answer without code. */
export const noCode = ({ tests }: Exam): Verdict => ({
  valid: false,
  passed: 0,
  total: tests.length,
  timedOut: 0,
  compileError: false,
  note: "there is no code in the answer",
});

const passes = ({ entry }: Exam, { outputs }: Test, outcome: Outcome | undefined): boolean => {
  if (outcome?._tag !== "Answered") return false;
  const same = entry === null ? sameText : sameValue;
  return outputs.some((output) => same(outcome.text, output));
};

const reasons = {
  error: "fails",
  timeout: "takes too long",
  memory: "takes too much memory",
  output: "says too much",
} as const;

const noteOf = (at: number, outcome: Outcome | undefined): string => {
  if (outcome?._tag !== "Failed") return `test ${at + 1} has a wrong result`;
  const { message, reason } = outcome;
  return `test ${at + 1} ${reasons[reason]}${reason === "error" && message !== "" ? `: ${message}` : ""}`;
};

export const verdictOf = (exam: Exam, report: Report): Verdict => {
  const { tests, timeoutFailsAll } = exam;
  const total = tests.length;
  if (report._tag === "Uncompilable") {
    return { valid: true, passed: 0, total, timedOut: 0, compileError: true, note: report.message };
  }
  const { outcomes } = report;
  const right = tests.map((test, at) => passes(exam, test, outcomes[at]));
  const timedOut = outcomes.filter((outcome) => outcome._tag === "Failed" && outcome.reason === "timeout").length;
  const passed = timeoutFailsAll && timedOut > 0 ? 0 : right.filter(Boolean).length;
  const first = right.indexOf(false);
  const note = first < 0 ? "" : noteOf(first, outcomes[first]);
  return { valid: true, passed, total, timedOut, compileError: false, note };
};
