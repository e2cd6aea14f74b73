import { describe, expect, it } from "vitest";
import * as EarlyStops from "../../src/domain/EarlyStops.ts";
import { metricsOf } from "../build/metricsOf.ts";

const rules = (changes: Partial<EarlyStops.Rules> = {}): EarlyStops.Rules => ({
  variance_stop_steps: 0,
  variance_stop_share: 0.1,
  success_stop_validations: 0,
  success_stop_share: 0.01,
  keep_best: { metric: "", mode: "max", patience: 0 },
  ...changes,
});

/** The step that ends a run whose steps have these metrics, and the reason; null where no rule ends it. */
const end = (stopRules: EarlyStops.Rules, steps: readonly Readonly<Record<string, number>>[]) => {
  let seen = EarlyStops.initial;
  for (const [i, metrics] of steps.entries()) {
    seen = EarlyStops.observe(stopRules, seen, i + 1, metricsOf(metrics));
    const reason = EarlyStops.stopReason(stopRules, seen);
    if (reason !== null) return [i + 1, reason];
  }
  return null;
};

const spread = (std: number, empty = 0) => ({
  "rollout/in_group_reward_std": std,
  "rollout/empty_after_filter": empty,
});

describe("the stop on a collapse of reward variance", () => {
  const stopRules = rules({ variance_stop_steps: 3 });
  const first = [spread(1), spread(2), spread(3)];

  it("needs as many steps below the share in a row as it takes for the mean", () => {
    expect(end(stopRules, [...first, spread(0.1), spread(0.1), spread(0.1)])).toEqual([6, "reward_variance_collapse"]);
    expect(end(stopRules, [...first, spread(0.1), spread(0.1), spread(0.2), spread(0.1), spread(0.1)])).toBeNull();
  });

  it("counts no window that the filter left empty", () => {
    const steps = [spread(1), spread(9, 1), spread(2), spread(3), spread(0.1), spread(0, 1), spread(0.1), spread(0.1)];
    expect(end(stopRules, steps)).toEqual([8, "reward_variance_collapse"]);
  });

  it("is off by default", () => {
    expect(end(rules(), [...first, ...Array.from({ length: 20 }, () => spread(0))])).toBeNull();
  });
});

describe("the stop on low validation success", () => {
  const stopRules = rules({ success_stop_validations: 2 });
  const validation = (maze: number, lake: number) => ({ "val-env/Maze/success": maze, "val-env/Lake/success": lake });

  it("counts each preset by itself, and only validations", () => {
    expect(end(stopRules, [validation(0, 1), {}, { "val-env/success": 0 }, validation(0.009, 1)])).toEqual([
      4,
      "low_validation_success",
    ]);
    expect(end(stopRules, [validation(0, 1), validation(1, 0), validation(0, 1), validation(0.01, 0.01)])).toBeNull();
  });
});

describe("the best step", () => {
  const rulesWith = (patience: number, mode: "max" | "min" = "max", metric = "val-env/success") =>
    rules({ keep_best: { metric, mode, patience } });
  const best = (by: EarlyStops.Rules, values: readonly (number | null)[]) =>
    values.reduce<EarlyStops.EarlyStopState>(
      (seen, value, i) =>
        EarlyStops.observe(by, seen, i + 1, metricsOf(value === null ? {} : { "val-env/success": value })),
      EarlyStops.initial,
    ).best;

  it("is the first of equal ones, largest or smallest", () => {
    expect(best(rulesWith(0), [0.1, 0.5, null, 0.5, 0.4])).toMatchObject({ step: 2, value: 0.5, since: 2 });
    expect(best(rulesWith(0, "min"), [0.4, 0.5, 0.2, 0.2])).toMatchObject({ step: 3, since: 1 });
  });

  it("ends the run once so many values are no better", () => {
    const at = (value: number) => ({ "val-env/success": value });
    expect(end(rulesWith(2), [at(0.3), {}, at(0.2), at(0.3)])).toEqual([4, "no_improvement"]);
    expect(end(rulesWith(2), [at(0.3), at(0.2), at(0.4), at(0.4)])).toBeNull();
  });

  it("is forgotten where another metric is followed", () => {
    const seen = EarlyStops.observe(rulesWith(0), EarlyStops.initial, 3, metricsOf({ "val-env/success": 0.9 }));
    const other = rulesWith(0, "max", "train/success");
    expect(EarlyStops.observe(other, seen, 4, metricsOf({ "train/success": 0.1 })).best).toMatchObject({ step: 4 });
    expect(EarlyStops.observe(rules(), seen, 4, metricsOf({})).best).toBeNull();
  });
});

it("is a value that does not change where a step says nothing to the rules", () => {
  expect(EarlyStops.observe(rules(), EarlyStops.initial, 1, metricsOf(spread(1)))).toBe(EarlyStops.initial);
});
