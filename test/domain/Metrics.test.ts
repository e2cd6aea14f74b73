import { expect, it } from "vitest";
import { metric } from "../../src/domain/metrics/Metric.ts";
import { metricsFrom, toRecord } from "../../src/domain/metrics/Metrics.ts";

it("metrics hold no value that was not measured or is not finite", () => {
  const values = [1, undefined, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0.5];
  const metrics = metricsFrom(...values.map((value, i) => [metric(`m/${i}`, "mean", "1", ""), value] as const));
  expect(toRecord(metrics)).toEqual({ "m/0": 1, "m/5": 0, "m/6": -0.5 });
});
