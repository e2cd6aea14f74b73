/**
 * DeepCoder: write code that passes the tests of a programming task. One action, the code; the reward is the share of tests that pass,
 * success is all of them. Code runs in a sandbox only, Python under bubblewrap and JavaScript in QuickJS; where that is not to be had the
 * environment refuses. A sandbox that breaks costs its episode, never the model a reward. States are plain data and hold nothing.
 *
 * RAGEN draws training and validation from the same part of its data and runs code as itself; here the two are disjoint, and code is
 * confined.
 */
import { Effect } from "effect";
import type { AsyncEnvironment } from "../../env/AsyncEnvironment.ts";
import type { BaseInfo, Transition } from "../../env/Environment.ts";
import { sentenceOf } from "../../env/prepare.ts";
import { startMs } from "../../sandbox/Job.ts";
import { submittedCode } from "../../sandbox/submittedCode.ts";
import * as Dataset from "../dataset/Dataset.ts";
import { DeepCoderConfig } from "./DeepCoderConfig.ts";
import { problemText, rules, shortText, verdictText } from "./ProblemText.ts";
import { runnerOf } from "./runner.ts";
import { sourceOf, type Task } from "./Task.ts";
import { jobOf, noCode, solved, type Verdict, verdictOf } from "./Verdict.ts";

export interface DeepCoderState {
  readonly task: Task;
  /** Null before the answer. */
  readonly verdict: Verdict | null;
}

export interface DeepCoderInfo extends BaseInfo {
  readonly passed: number;
  readonly total: number;
  /** Some test ran out of time. */
  readonly timed_out: boolean;
  readonly compile_error: boolean;
}

const infoOf = (verdict: Verdict, effective: boolean): DeepCoderInfo => ({
  success: solved(verdict),
  action_is_effective: effective,
  action_is_valid: verdict.valid,
  passed: verdict.passed,
  total: verdict.total,
  timed_out: verdict.timedOut > 0,
  compile_error: verdict.compileError,
});

const judge = async (config: DeepCoderConfig, task: Task, action: string, signal: AbortSignal): Promise<Verdict> => {
  const code = submittedCode(action);
  if (code === "") return noCode(config, task);
  const run = await runnerOf(config);
  return verdictOf(config, task, await Effect.runPromise(run(jobOf(config, task, code)), { signal }));
};

const step = async (
  config: DeepCoderConfig,
  { task, verdict: before }: DeepCoderState,
  action: string,
  signal: AbortSignal,
): Promise<Transition<DeepCoderState, DeepCoderInfo>> => {
  const ended = { terminated: true, truncated: false } as const;
  if (before !== null) return { state: { task, verdict: before }, reward: 0, ...ended, info: infoOf(before, false) };
  const verdict = await judge(config, task, action, signal);
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
  render: (config, { task, verdict }) => (verdict === null ? problemText(config, task) : verdictText(verdict)),
  compact: (config, { task, verdict }) =>
    verdict === null ? shortText(config, task) : `passed ${verdict.passed} of ${verdict.total}`,
  actions: () => null,
  wholeAnswer: true,
  legend: rules,
  contentKey: (_config, { task }) => `deepcoder:${task.problem}`,
  capacity: (config) => config.in_flight,
  // The sandbox keeps its own time, and ends earlier.
  timeoutMs: (config) => startMs + 10_000 + config.total_timeout * 1000,
  lacks: async (config) => {
    const data = await Dataset.lacks(sourceOf(config));
    return runnerOf(config).then(
      () => data,
      (cause: unknown) => [...data, sentenceOf(cause)],
    );
  },
  report: (config) => Dataset.report(sourceOf(config)),
  prepare: async (config) => {
    await Promise.all([Dataset.load(sourceOf(config)), runnerOf(config)]);
  },
};
