/**
 * Attacks on a sandbox, and the rule by which they are judged. A submission attacks in its first test, whose expected output is a secret that no
 * sandbox knows, and answers honestly in its second. The first must fail in a named way, the second must pass, and so must an honest
 * submission after it.
 */
import { expect } from "vitest";
import { gradeReport, jobOf, type TestSuite } from "../../../src/env/sandbox/Grade.ts";
import type { Job, Limits, Report } from "../../../src/env/sandbox/Job.ts";

export interface Attack {
  readonly name: string;
  /** The body of a function, which the first test runs. Its result is `"refused"` if nothing that it tries succeeds. */
  readonly body: string;
  /** The ends that its first test may have: a reason, or the text of an answer. */
  readonly ends: readonly string[];
  /** The code is a program: `body` stands at its top level. */
  readonly program?: true;
  readonly limits?: Partial<Limits>;
}

export const refused: readonly string[] = ['"refused"'];

const secret = "secret-5f0c1e";
const honest = "honest";

/** The exam whose first test nothing can pass that does not know the secret. */
const examOf = ({ ends, limits = {}, program }: Attack, most: Limits): TestSuite => ({
  entry: program ? null : "f",
  preamble: false,
  tests: program
    ? [
        { input: "1\n", outputs: [secret] },
        { input: "2\n", outputs: [honest] },
      ]
    : [
        { input: "[1]", outputs: [JSON.stringify(secret)] },
        { input: "[2]", outputs: [JSON.stringify(honest)] },
      ],
  limits: { ...most, testMs: ends.includes("timeout") ? most.testMs : roomyMs, ...limits },
  timeoutFailsAll: false,
});

const endOf = (report: Report): string => {
  if (report._tag === "Uncompilable") return "uncompilable";
  const [outcome] = report.outcomes;
  return outcome?._tag === "Answered" ? outcome.text : (outcome?.reason ?? "no outcome");
};

/** No machine is too slow for what is not to run out of time. */
const roomyMs = 20_000;

/** Runs an attack and then `peaceful`, an honest submission. An attack that may run out of time has `most.testMs`. */
export const judge = async (
  attack: Attack,
  code: string,
  peaceful: string,
  most: Limits,
  run: (job: Job) => Promise<Report>,
): Promise<void> => {
  const exam = examOf(attack, most);
  const report = await run(jobOf(exam, code));
  const verdict = gradeReport(exam, report);
  expect({ end: endOf(report), passed: verdict.passed, note: verdict.note }).toMatchObject({
    end: expect.toBeOneOf([...attack.ends]),
    passed: 1,
    note: expect.stringContaining("test 1 "),
  });
  const next: TestSuite = {
    ...exam,
    entry: "f",
    tests: [{ input: "[]", outputs: ['"peaceful"'] }],
    limits: { ...most, testMs: roomyMs },
  };
  expect(gradeReport(next, await run(jobOf(next, peaceful)))).toMatchObject({ passed: 1, total: 1 });
};
