/**
 * DeepCoder: the one action is code that should pass the tests of a programming task. The reward is the share of tests that pass, success is
 * all of them. Invariant: code runs only in a sandbox, Python under bubblewrap and JavaScript in QuickJS; a sandbox that breaks fails the
 * episode. Unlike RAGEN's, training and validation are disjoint, and code is confined.
 */
import { Effect } from "effect";
import type { AsyncEnvironment } from "../../contract/AsyncEnvironment.ts";
import type { BaseInfo, Transition } from "../../contract/Environment.ts";
import { messageOf } from "../../contract/prepare.ts";
import { type Grade, gradeReport, gradeWithoutCode, hasPassedAll, jobOf } from "../../sandbox/Grade.ts";
import { startMs } from "../../sandbox/Job.ts";
import { runnerOf } from "../../sandbox/runner.ts";
import { submittedCode } from "../../sandbox/submittedCode.ts";
import * as Dataset from "../dataset/Dataset.ts";
import { DeepCoderConfig } from "./DeepCoderConfig.ts";
import { gradeText, problemText, rules, shortText } from "./ProblemText.ts";
import { sourceOf, type Task, testSuiteOf } from "./Task.ts";

export interface DeepCoderState {
  readonly task: Task;
  /** The grade of the answer; null before the answer. */
  readonly verdict: Grade | null;
}

export interface DeepCoderInfo extends BaseInfo {
  readonly passed_tests: number;
  readonly total_tests: number;
  /** True if some test ran out of time. */
  readonly timed_out: boolean;
  readonly compile_error: boolean;
}

const infoOf = (verdict: Grade, effective: boolean): DeepCoderInfo => ({
  success: hasPassedAll(verdict),
  action_is_effective: effective,
  action_is_valid: verdict.valid,
  passed_tests: verdict.passed,
  total_tests: verdict.total,
  timed_out: verdict.timedOut > 0,
  compile_error: verdict.compileError,
});

const gradeAction = async (
  config: DeepCoderConfig,
  task: Task,
  action: string,
  signal: AbortSignal,
): Promise<Grade> => {
  const code = submittedCode(action);
  const suite = testSuiteOf(config, task);
  if (code === "") return gradeWithoutCode(suite);
  const run = await runnerOf(config);
  return gradeReport(suite, await Effect.runPromise(run(jobOf(suite, code)), { signal }));
};

const step = async (
  config: DeepCoderConfig,
  { task, verdict: before }: DeepCoderState,
  action: string,
  signal: AbortSignal,
): Promise<Transition<DeepCoderState, DeepCoderInfo>> => {
  const ended = { terminated: true, truncated: false } as const;
  if (before !== null) return { state: { task, verdict: before }, reward: 0, ...ended, info: infoOf(before, false) };
  const verdict = await gradeAction(config, task, action, signal);
  const { passed, total } = verdict;
  return { state: { task, verdict }, reward: passed / total, ...ended, info: infoOf(verdict, passed > 0) };
};

export const DeepCoder: AsyncEnvironment<DeepCoderConfig, DeepCoderState, DeepCoderInfo> = {
  asynchronous: true,
  type: "deepcoder",
  config: DeepCoderConfig,
  reset: async (config, instance, split) => {
    const source = sourceOf(config);
    await Dataset.load(source);
    return { task: Dataset.draw(source, split, instance), verdict: null };
  },
  step: (config, state, action, _noise, signal) => step(config, state, action, signal),
  render: (config, { task, verdict }) => (verdict === null ? problemText(config, task) : gradeText(verdict)),
  compact: (config, { task, verdict }) =>
    verdict === null ? shortText(config, task) : `passed ${verdict.passed} of ${verdict.total}`,
  actions: () => null,
  wholeAnswer: true,
  legend: rules,
  contentKey: (_config, { task }) => `deepcoder:${task.problem}`,
  capacity: (config) => config.in_flight,
  // The sandbox's own limits end a test earlier.
  timeoutMs: (config) => startMs + 10_000 + config.total_timeout * 1000,
  lacks: async (config) => {
    const data = await Dataset.lacks(sourceOf(config));
    return runnerOf(config).then(
      () => data,
      (cause: unknown) => [...data, messageOf(cause)],
    );
  },
  report: (config) => Dataset.report(sourceOf(config)),
  prepare: async (config) => {
    await Promise.all([Dataset.load(sourceOf(config)), runnerOf(config)]);
  },
};
