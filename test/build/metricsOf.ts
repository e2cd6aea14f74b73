/** Metrics from flat keys, for tests that spell names out. */
import { metric } from "../../src/domain/metrics/Metric.ts";
import type { Metrics } from "../../src/domain/metrics/Metrics.ts";

export const metricsOf = (values: Readonly<Record<string, number>>): Metrics =>
  new Map(Object.entries(values).map(([name, value]) => [metric(name, "mean", "1", "").name, value]));
