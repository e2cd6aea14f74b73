/**
 * The record of one step: everything the sinks show of a consumed window, as flat metrics. Enters: the window, what the learner reported
 * and the gauges at two moments; leaves: numbers. Pure.
 */
import type { Version } from "../domain/Episode.ts";
import { members } from "../domain/Group.ts";
import * as Ledger from "../domain/Ledger.ts";
import { toRecord } from "../domain/metrics/Metrics.ts";
import type { GeneratorGauges } from "../policy/generation/Policy.ts";
import type { StageSample } from "../stage/Gauge.ts";
import * as Gauge from "../stage/Gauge.ts";
import type { Consumed } from "./Flow.ts";
import { environmentMetrics, lengthDrift, lengthMetrics, type Metrics, stalenessMetrics } from "./statistics.ts";

export type { Metrics } from "./statistics.ts";

/** The gauges at one moment. */
export interface Moment {
  readonly seconds: number;
  readonly stages: readonly StageSample[];
  readonly generator: GeneratorGauges;
  readonly trainedTokens: number;
}

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

const stageMetrics = (now: readonly StageSample[], before: readonly StageSample[]): Metrics =>
  Object.assign({}, ...now.map((sample, i) => Gauge.metrics(before[i] ?? null, sample)));

const generatorMetrics = (now: GeneratorGauges, before: GeneratorGauges, elapsed: number): Metrics => ({
  "tokens/generated_per_second": share(now.sampledTokens - before.sampledTokens, elapsed),
  "tokens/prefilled_per_second": share(now.prefilledTokens - before.prefilledTokens, elapsed),
  "generation/refilled_tokens": now.refilledTokens,
  "generation/rows_per_step": share(now.sampledTokens - before.sampledTokens, now.decodeSteps - before.decodeSteps),
  "generation/active": now.active,
  "generation/busy": share(now.busyMs - before.busyMs, elapsed * 1000),
  "generation/adoption_ms": now.adoptionMs.last,
});

export const make = (
  consumed: Consumed,
  version: Version,
  ledger: Ledger.Ledger,
  now: Moment,
  before: Moment,
): Metrics => {
  const { window, filtered, report } = consumed;
  const elapsed = now.seconds - before.seconds;
  const kept = new Set(filtered.kept.map(({ prompt }) => prompt.group));
  const trained = window.groups.filter(({ prompt }) => kept.has(prompt.group));
  const tokens = now.trainedTokens - before.trainedTokens;
  return {
    ...environmentMetrics("train", window.groups, window.failed),
    ...lengthMetrics(window.groups),
    ...toRecord(filtered.metrics),
    ...stalenessMetrics(trained, consumed.from),
    ...lengthDrift(trained, window.groups),
    ...(report === null ? {} : toRecord(report.metrics)),
    "train/groups/held_out": window.groups.filter(({ heldOut }) => heldOut).length,
    "train/batch_size": trained.flatMap(members).length,
    "rollout/consecutive_empty_after_filter_steps": consumed.emptyInARow,
    "weights/version": version,
    "tokens/trained_per_second": share(tokens, elapsed),
    ...generatorMetrics(now.generator, before.generator, elapsed),
    ...stageMetrics(now.stages, before.stages),
    ...Ledger.metrics(ledger),
    "timing_s/step": elapsed,
    "timing_s/filter": consumed.filterSeconds,
    "timing_s/values": consumed.valuesSeconds,
    "timing_s/adv": consumed.creditSeconds,
    "timing_s/update": consumed.updateSeconds,
    ...(report === null ? {} : toRecord(report.seconds)),
    "timing_s/total": now.seconds,
  };
};
