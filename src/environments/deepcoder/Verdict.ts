/**
 * The verdict on one answer: what its tests came to, against what they should have. A pure function of the task, the configuration and the
 * report of the run; expected outputs are known here and nowhere else.
 */

import type { Job, Outcome, Report } from "../../sandbox/Job.ts";
import { sameText, sameValue } from "../../sandbox/sameOutput.ts";
import type { DeepCoderConfig } from "./DeepCoderConfig.ts";
import type { Task, Test } from "./Task.ts";

export interface Verdict {
  /** There was code in the answer. */
  readonly valid: boolean;
  readonly passed: number;
  readonly total: number;
  /** Tests that ran out of time, or out of the time of all. */
  readonly timedOut: number;
  readonly compileError: boolean;
  /** Why the first test that fails does, without its expected output; empty where none does. */
  readonly note: string;
}

export const solved = ({ passed, total }: Verdict): boolean => passed === total;

/** The tests of a task that are run. */
export const testsOf = ({ tests }: Task, { max_tests }: DeepCoderConfig): readonly Test[] =>
  max_tests === 0 ? tests : tests.slice(0, max_tests);

export const jobOf = (config: DeepCoderConfig, task: Task, code: string): Job => ({
  code,
  entry: task.entry,
  preamble: task.starter !== "",
  inputs: testsOf(task, config).map(({ input }) => input),
  limits: {
    testMs: config.test_timeout * 1000,
    totalMs: config.total_timeout * 1000,
    memoryBytes: config.memory_mb * 1024 * 1024,
    outputBytes: config.output_kb * 1024,
  },
  stopAtTimeout: config.timeout_fails_all,
});

/** Of an answer without code. */
export const noCode = (config: DeepCoderConfig, task: Task): Verdict => ({
  valid: false,
  passed: 0,
  total: testsOf(task, config).length,
  timedOut: 0,
  compileError: false,
  note: "there is no code in the answer",
});

const passes = ({ entry }: Task, { outputs }: Test, outcome: Outcome | undefined): boolean => {
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

export const verdictOf = (config: DeepCoderConfig, task: Task, report: Report): Verdict => {
  const tests = testsOf(task, config);
  const total = tests.length;
  if (report._tag === "Uncompilable") {
    return { valid: true, passed: 0, total, timedOut: 0, compileError: true, note: report.message };
  }
  const { outcomes } = report;
  const right = tests.map((test, at) => passes(task, test, outcomes[at]));
  const timedOut = outcomes.filter((outcome) => outcome._tag === "Failed" && outcome.reason === "timeout").length;
  const passed = config.timeout_fails_all && timedOut > 0 ? 0 : right.filter(Boolean).length;
  const first = right.indexOf(false);
  const note = first < 0 ? "" : noteOf(first, outcomes[first]);
  return { valid: true, passed, total, timedOut, compileError: false, note };
};
