/** The record of one step: what became of its window, and what the gauges say of the time between two moments. Pure. */
import { trainedLevels } from "../config/levels.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { weighingOf } from "../config/taskSampler.ts";
import { members } from "../domain/Group.ts";
import * as Ledger from "../domain/Ledger.ts";
import { type Metrics, mergeMetrics, metricsFrom } from "../domain/metrics/Metrics.ts";
import { timing, tokens, weights, windows } from "../domain/metrics/run.ts";
import type { RunState } from "../domain/RunState.ts";
import * as TaskSampler from "../domain/TaskSampler.ts";
import type { StageSample } from "../flow/Gauge.ts";
import * as Gauge from "../flow/Gauge.ts";
import * as Generator from "../generation/generatorMetrics.ts";
import { driftMetrics, environmentMetrics, lengthMetrics, stalenessMetrics } from "../rollout/statistics.ts";
import type { Reading } from "./Readings.ts";
import type { DiagnosedWindow } from "./stages/learn.ts";

/** Undefined where there is nothing to divide by. */
const ratio = (part: number, whole: number): number | undefined => (whole === 0 ? undefined : part / whole);

const stageMetrics = (now: readonly StageSample[], before: readonly StageSample[]): Metrics =>
  mergeMetrics(...now.map((sample) => Gauge.metrics(before.find(({ name }) => name === sample.name) ?? null, sample)));

/** The window's part: its episodes, the filter's verdict and the update. */
const windowMetrics = ({ diagnostics, filtered, from, report, seconds, window }: DiagnosedWindow): Metrics => {
  const trained =
    report?.applied === true
      ? filtered.kept.map(({ episodes, prompt }) => ({ prompt, episodes: episodes.map(({ episode }) => episode) }))
      : [];
  return mergeMetrics(
    environmentMetrics("train", window.groups, window.failed),
    lengthMetrics(window.groups),
    filtered.metrics,
    stalenessMetrics(trained, from),
    driftMetrics(trained, window.groups),
    ...(report === null ? [] : [report.metrics, report.seconds]),
    diagnostics,
    metricsFrom(
      [windows.heldOut, window.groups.filter(({ heldOut }) => heldOut).length],
      [windows.attempts, window.refills + 1],
      [windows.refilled, window.refilled],
      [windows.batchSize, trained.flatMap(members).length],
      [timing.filter, seconds.filter],
      [timing.update, seconds.update],
    ),
  );
};

/** The levels of training's presets, as the task sampler will draw them and as the window played them; nothing without a task sampler. */
const levelMetrics = (
  config: RunConfig,
  { taskSampler }: RunState,
  { failed, groups }: DiagnosedWindow["window"],
): Metrics => {
  if (taskSampler === null) return metricsFrom();
  const posterior = TaskSampler.newest(taskSampler);
  const weighed = Object.values(trainedLevels(config)).map((levels) =>
    TaskSampler.metrics(TaskSampler.weigh(posterior, levels, weighingOf(config)), [...groups, ...failed]),
  );
  return mergeMetrics(...weighed);
};

/** Returns the metrics of the step that consumed `window`, from the moment `before` to `now`. */
export const make = (config: RunConfig, window: DiagnosedWindow, now: Reading, before: Reading): Metrics => {
  const elapsed = now.seconds - before.seconds;
  const { emptyInARow, ledger, position, skipped, trainedTokens } = now.state;
  return mergeMetrics(
    windowMetrics(window),
    levelMetrics(config, now.state, window.window),
    metricsFrom(
      [windows.emptyInARow, emptyInARow],
      [windows.skippedInARow, skipped?.count ?? 0],
      [weights.version, position.version],
      [tokens.trained, ratio(trainedTokens - before.state.trainedTokens, elapsed)],
    ),
    Generator.generatorMetrics(now.generator, before.generator, elapsed),
    stageMetrics(now.stages, before.stages),
    now.metrics,
    Ledger.metrics(ledger),
    metricsFrom([timing.step, elapsed], [timing.total, now.seconds]),
  );
};
