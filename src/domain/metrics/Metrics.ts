/**
 * Values of one step, or of a part of it, by metrics of the catalogue. What was not measured is absent, never 0, and so is
 * what came to no finite number.
 */
import type { Metric, MetricName } from "./Metric.ts";

/** Measured values by metric, in the order in which they are shown. A metric that was not measured is absent. */
export type Metrics = ReadonlyMap<MetricName, number>;

/** The values that were measured: entries without a finite one are left out. */
export const metricsFrom = (...entries: readonly (readonly [Metric, number | undefined])[]): Metrics =>
  new Map(
    entries.flatMap(([{ name }, value]) => (value === undefined || !Number.isFinite(value) ? [] : [[name, value]])),
  );

/** All values of the parts; of a metric that several have, the last one's. */
export const mergeMetrics = (...parts: readonly Metrics[]): Metrics => new Map(parts.flatMap((part) => [...part]));

/** The value of `metric`; undefined where the metric was not measured. */
export const valueIn = (metrics: Metrics, { name }: Metric): number | undefined => metrics.get(name);

/** The values of a family of one parameter that is not fixed, by that parameter: of each preset, of each drawing. */
export const valuesIn = (metrics: Metrics, metricOf: (part: string) => Metric): ReadonlyMap<string, number> => {
  const [before = "", behind = ""] = metricOf("{}").name.split("{}");
  const parts = [...metrics].flatMap(([name, value]) => {
    const fits = name.length > before.length + behind.length && name.startsWith(before) && name.endsWith(behind);
    const part = fits ? name.slice(before.length, name.length - behind.length) : "/";
    return part.includes("/") ? [] : [[part, value] as const];
  });
  return new Map(parts);
};

/** The values by plain name, as a line of `metrics.jsonl` has them. */
export const toRecord = (metrics: Metrics): Readonly<Record<string, number>> => Object.fromEntries(metrics);
