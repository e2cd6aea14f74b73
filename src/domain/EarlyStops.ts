/**
 * The rules that end a run early and find its best step: by the spread of rewards, the success of validations, and a metric of the user's
 * choice. A pure state machine over step metrics; its state is part of the run's, so that a resumed run goes on counting. The first two
 * rules are RAGEN's, which has them always on, with 10 steps and 10 %, 5 validations and 1 %.
 */
import { Schema } from "effect";
import { Count } from "./Count.ts";
import { filter } from "./metrics/filter.ts";
import { type Metrics, metricsFrom, valueIn } from "./metrics/Metrics.ts";
import { windows } from "./metrics/run.ts";

export const reasons = ["reward_variance_collapse", "low_validation_success", "no_improvement"] as const;

/** A rule that ends a run early. */
export type EarlyStop = (typeof reasons)[number];

export const isEarly = (reason: string): reason is EarlyStop => reasons.some((one) => one === reason);

/** Reasons of a run's own for which windows that are whole by then are still trained on, unless the run has a fixed lag. */
const draining: readonly string[] = ["empty_selections", "gradient_analysis"];

/**
 * Tells whether no window after the current one is trained on when the run stops for a reason. With a fixed lag that holds for every reason
 * of the run's own, because the number of whole windows depends on time.
 */
export const endsAtOnce =
  (isFixedLag: boolean) =>
  (reason: string): boolean =>
    isEarly(reason) || (isFixedLag && draining.includes(reason));

/** The rules, as the run file has them; 0 steps, validations or patience, and no metric: never. */
export interface Rules {
  readonly variance_stop_steps: number;
  /** Share of the mean deviation of the first steps. */
  readonly variance_stop_share: number;
  readonly success_stop_validations: number;
  readonly success_stop_share: number;
  readonly keep_best: {
    readonly metric: string;
    readonly mode: "max" | "min";
    readonly patience: number;
  };
}

const Best = Schema.Struct({
  metric: Schema.String,
  step: Count,
  value: Schema.Finite,
  /** Values since then, none of them better. */
  since: Count,
});

export const EarlyStopState = Schema.Struct({
  /** Deviations of the first steps: how many, and their sum. */
  first: Schema.Struct({ count: Count, sum: Schema.Finite }),
  /** Steps in a row, after those, below the share of their mean. */
  collapsed: Count,
  /** Validations in a row below the share, by preset. */
  unsuccessful: Schema.Record(Schema.String, Count),
  /** The step with the best value of the metric; null before the first. */
  best: Schema.NullOr(Best),
});

/** The state of the early-stop rules. */
export type EarlyStopState = typeof EarlyStopState.Type;

export const initial: EarlyStopState = { first: { count: 0, sum: 0 }, collapsed: 0, unsuccessful: {}, best: null };

/** A window that the filter left empty does not count. */
const observeSpread = (rules: Rules, seen: EarlyStopState, metrics: Metrics): Partial<EarlyStopState> => {
  const deviation = valueIn(metrics, filter.rewardStd);
  const steps = rules.variance_stop_steps;
  if (steps === 0 || deviation === undefined || valueIn(metrics, filter.empty) === 1) return {};
  const { count, sum } = seen.first;
  if (count < steps) return { first: { count: count + 1, sum: sum + deviation } };
  return { collapsed: deviation < rules.variance_stop_share * (sum / count) ? seen.collapsed + 1 : 0 };
};

const validationSuccess = /^val-env\/(.+)\/success$/;

const observeSuccess = (rules: Rules, seen: EarlyStopState, metrics: Metrics): Partial<EarlyStopState> => {
  if (rules.success_stop_validations === 0) return {};
  const counts = [...metrics].flatMap(([name, success]) => {
    const tag = validationSuccess.exec(name)?.[1];
    if (tag === undefined) return [];
    return [[tag, success < rules.success_stop_share ? (seen.unsuccessful[tag] ?? 0) + 1 : 0] as const];
  });
  return counts.length === 0 ? {} : { unsuccessful: { ...seen.unsuccessful, ...Object.fromEntries(counts) } };
};

/** The best step by another metric says nothing. */
const observeBest = (
  { keep_best: { metric, mode } }: Rules,
  seen: EarlyStopState,
  step: number,
  metrics: Metrics,
): Partial<EarlyStopState> => {
  const before = seen.best?.metric === metric ? seen.best : null;
  const value = [...metrics].find(([name]) => name === metric)?.[1];
  if (value === undefined) return before === seen.best ? {} : { best: before };
  const better = before === null || (mode === "max" ? value > before.value : value < before.value);
  return { best: better ? { metric, step, value, since: 0 } : { ...before, since: before.since + 1 } };
};

/** The state after more metrics of a step, each of which comes once; the same object if no rule reads them. */
export const observe = (rules: Rules, seen: EarlyStopState, step: number, metrics: Metrics): EarlyStopState => {
  const changes = {
    ...observeSpread(rules, seen, metrics),
    ...observeSuccess(rules, seen, metrics),
    ...observeBest(rules, seen, step, metrics),
  };
  return Object.keys(changes).length === 0 ? seen : { ...seen, ...changes };
};

/** Why the run ends; null where it goes on. */
export const stopReason = (rules: Rules, seen: EarlyStopState): EarlyStop | null => {
  const { keep_best, success_stop_validations: validations, variance_stop_steps: steps } = rules;
  if (steps > 0 && seen.collapsed >= steps) return "reward_variance_collapse";
  if (validations > 0 && Object.values(seen.unsuccessful).some((count) => count >= validations)) {
    return "low_validation_success";
  }
  const patience = keep_best.metric === "" ? 0 : keep_best.patience;
  return patience > 0 && seen.best !== null && seen.best.since >= patience ? "no_improvement" : null;
};

/** Why a run that ends early does, as RAGEN names it; nothing of a run that goes on or was interrupted. */
export const metrics = (reason: string): Metrics => {
  const type = reason === "empty_selections" ? "empty_filtered_steps" : isEarly(reason) ? reason : null;
  return type === null ? metricsFrom() : metricsFrom([windows.earlyStopped.of({ type }), 1]);
};
