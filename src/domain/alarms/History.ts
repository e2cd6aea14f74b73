/**
 * The alarms' memory of earlier records: the last values of a few metrics, and the best success. Its size is bounded, whatever the run's
 * length.
 */
import { Schema } from "effect";
import { episodes } from "../metrics/episodes.ts";
import { filter } from "../metrics/filter.ts";
import { learner } from "../metrics/learner.ts";
import type { Metric } from "../metrics/Metric.ts";
import { type Metrics, valueIn } from "../metrics/Metrics.ts";
import { mean } from "../Statistics.ts";
import { thresholds } from "./thresholds.ts";

const Values = Schema.Array(Schema.Finite);

export const History = Schema.Struct({
  /** Success of the last windows, oldest first; the divergences and the effective share likewise. */
  success: Values,
  updateKl: Values,
  referenceKl: Values,
  effectiveShare: Values,
  /** The best mean of the success of so many windows, and of validations; null before the first. */
  bestSuccess: Schema.NullOr(Schema.Finite),
  bestValidation: Schema.NullOr(Schema.Finite),
  /** True once rewards have differed within a group. */
  differed: Schema.Boolean,
});
export type History = typeof History.Type;

export const empty: History = {
  success: [],
  updateKl: [],
  referenceKl: [],
  effectiveShare: [],
  bestSuccess: null,
  bestValidation: null,
  differed: false,
};

/** The mean of the last `count` values; undefined before there are so many. */
export const meanOfLast = (values: readonly number[], count: number): number | undefined =>
  values.length < count ? undefined : mean(values.slice(-count));

const better = (best: number | null, value: number | undefined): number | null =>
  value === undefined ? best : Math.max(best ?? value, value);

/** The history with one more record. */
export const remember = (history: History, metrics: Metrics): History => {
  const last = (values: readonly number[], metric: Metric, count: number): readonly number[] => {
    const value = valueIn(metrics, metric);
    return value === undefined ? values : [...values, value].slice(-count);
  };
  const { declineWindows, deviation, divergenceWindows } = thresholds;
  const success = last(history.success, episodes.success.of({ split: "train" }), declineWindows);
  const isNew = success !== history.success;
  return {
    success,
    updateKl: last(history.updateKl, learner.ppoKl, divergenceWindows),
    referenceKl: last(history.referenceKl, learner.klLoss, divergenceWindows),
    effectiveShare: last(history.effectiveShare, learner.mismatchEss, divergenceWindows),
    bestSuccess: isNew ? better(history.bestSuccess, meanOfLast(success, declineWindows)) : history.bestSuccess,
    bestValidation: better(history.bestValidation, valueIn(metrics, episodes.success.of({ split: "val-env" }))),
    differed: history.differed || (valueIn(metrics, filter.rewardStd) ?? 0) > deviation,
  };
};
