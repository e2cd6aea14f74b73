/**
 * The contract of a sandbox for any language: it runs a job, which is one submission on its inputs, and returns a report. A job has no
 * expected outputs, so that nothing a submission does in the sandbox can make a wrong answer right.
 */
import { Schema } from "effect";

export interface Limits {
  /** The processor time of one test, in milliseconds. */
  readonly testMs: number;
  /** The time of the whole job, in milliseconds; tests that have not begun by then have timed out. */
  readonly totalMs: number;
  readonly memoryBytes: number;
  /** The size of one test's output or result. */
  readonly outputBytes: number;
}

/** A test that only waits costs no processor time: it ends after this many times `testMs` on the clock. */
export const wallClockFactor = 3;

/** A sandbox that takes longer than this to start has failed, in milliseconds. */
export const startMs = 60_000;

export interface Job {
  readonly code: string;
  /** The function to call; null runs the code as a program that reads its input. */
  readonly entry: string | null;
  /** If true, the names that competition code takes for granted (`List`, `defaultdict`, `inf`) need no import. */
  readonly preamble: boolean;
  /** One input for each test: the arguments as a JSON array, or the text of the standard input. */
  readonly inputs: readonly string[];
  readonly limits: Limits;
  /** If true, no test runs after one that times out. */
  readonly stopAtTimeout: boolean;
}

export type FailureReason = "error" | "timeout" | "memory" | "output";

/** The result of one test. */
export type Outcome =
  /** The result as JSON, or the output of the program. */
  | { readonly _tag: "Answered"; readonly text: string }
  | { readonly _tag: "Failed"; readonly reason: FailureReason; readonly message: string };

export type Report =
  /** One outcome for each test, in order. */
  | { readonly _tag: "Ran"; readonly outcomes: readonly Outcome[] }
  | { readonly _tag: "Uncompilable"; readonly message: string };

export const failed = (reason: FailureReason, message: string): Outcome => ({ _tag: "Failed", reason, message });

export const outOfTime = failed("timeout", "no time left");

/** The report of a job with `outcomes` for its first tests and `missing` for each of the rest. */
export const completeReport = (job: Job, outcomes: readonly Outcome[], missing = outOfTime): Report => ({
  _tag: "Ran",
  outcomes: job.inputs.map((_, at) => outcomes[at] ?? missing),
});

/** The failure of the sandbox itself: this machine has none, or it broke. It says nothing about the submission. */
export class SandboxError extends Schema.TaggedError<SandboxError>()("SandboxError", { message: Schema.String }) {}
