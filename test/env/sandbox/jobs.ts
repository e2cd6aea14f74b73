/** Jobs for a sandbox of either language: the code of a function `f`, called once without arguments. */
import { expect } from "vitest";
import type { Job, Limits, Outcome, Report } from "../../../src/env/sandbox/Job.ts";

export const jobOf = (code: string, limits: Limits, keys: Partial<Job> = {}): Job => ({
  code,
  entry: "f",
  preamble: false,
  inputs: ["[]"],
  limits,
  stopAtTimeout: false,
  ...keys,
});

/** The outcomes of a job that ran; one that could not fails the test. */
export const outcomesOf = (report: Report): readonly Outcome[] =>
  report._tag === "Ran" ? report.outcomes : expect.unreachable(report.message);

/** The text of the first test's answer. */
export const textOf = ([outcome]: readonly Outcome[]): string =>
  outcome?._tag === "Answered" ? outcome.text : expect.unreachable(JSON.stringify(outcome));
