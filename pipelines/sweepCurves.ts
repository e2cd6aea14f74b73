/** Reads what a sweep's finished runs measured from their metrics.jsonl, and joins the curves of a point's runs for its chart. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Curves as Drawn } from "../src/observe/watch/Api.ts";
import { parseObject } from "../src/support/files/readLines.ts";
import type { Curves } from "../src/tools/sweep/Results.ts";
import type { Value } from "../src/tools/sweep/summary.ts";

/** A file of a run's folder; empty where it cannot be read. */
export const textIn = (folder: string, name: string): string => {
  try {
    return readFileSync(join(folder, name), "utf8");
  } catch {
    return "";
  }
};

/** The curves of the metrics that `isWanted` accepts; a record without a step is left out. */
export const curvesOf = (
  records: readonly Readonly<Record<string, unknown>>[],
  isWanted: (metric: string) => boolean,
): Curves => {
  const curves = new Map<string, Value[]>();
  for (const { step, ...values } of records) {
    if (typeof step !== "number") continue;
    for (const [metric, value] of Object.entries(values)) {
      if (typeof value !== "number" || !isWanted(metric)) continue;
      const curve = curves.get(metric) ?? [];
      curve.push({ step, value });
      curves.set(metric, curve);
    }
  }
  return curves;
};

/** Reads the curves of the metrics that `isWanted` accepts from a run's folder; a line that cannot be read is left out. */
export const curvesIn = (folder: string, isWanted: (metric: string) => boolean): Curves =>
  curvesOf(
    textIn(folder, "metrics.jsonl")
      .split("\n")
      .map((line) => parseObject(line) ?? {}),
    isWanted,
  );

/** Steps of a chart at most; of longer runs evenly chosen ones are drawn. */
const mostSteps = 300;

/** Mean, least and greatest value over the runs, of each metric and step that any of them has. */
export const joinCurves = (runs: readonly Curves[]): Drawn => {
  const names = [...new Set(runs.flatMap((curves) => [...curves.keys()]))];
  const at = new Map<string, ReadonlyMap<number, readonly number[]>>(
    names.map((name) => {
      const values = runs.flatMap((curves) => curves.get(name) ?? []);
      const bySteps = Map.groupBy(values, ({ step }) => step);
      return [name, new Map(Array.from(bySteps, ([step, found]) => [step, found.map(({ value }) => value)]))];
    }),
  );
  const all = [...new Set(Array.from(at.values()).flatMap((bySteps) => [...bySteps.keys()]))].sort((a, b) => a - b);
  // Rare values, such as validations, are kept whatever is left out.
  const rare = new Set(Array.from(at.values()).flatMap((bySteps) => (bySteps.size <= 50 ? [...bySteps.keys()] : [])));
  const stride = Math.max(1, Math.ceil(all.length / mostSteps));
  const steps = all.filter((step, index) => index % stride === 0 || index === all.length - 1 || rare.has(step));
  const curveOf = (name: string, combine: (values: readonly number[]) => number) =>
    steps.map((step) => {
      const values = at.get(name)?.get(step);
      return values === undefined ? null : combine(values);
    });
  return {
    steps,
    times: steps.map(() => 0),
    series: names.map((name) => ({
      name,
      mean: curveOf(name, (values) => values.reduce((sum, value) => sum + value, 0) / values.length),
      min: curveOf(name, (values) => Math.min(...values)),
      max: curveOf(name, (values) => Math.max(...values)),
    })),
  };
};
