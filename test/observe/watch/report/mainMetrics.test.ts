/** The choice of a report's metrics. */
import { expect, it } from "vitest";
import { entryOf } from "../../../../src/domain/metrics/Catalogue.ts";
import { drawnMetrics, mainMetricNames } from "../../../../src/observe/watch/report/mainMetrics.ts";

const names = ["timing_s/step", "train/A/success", "val-env/A/success", "train/success", "made/up", "val-env/success"];

it("are the main ones in an order of their own, whatever order a run has", () => {
  expect(drawnMetrics(names)).toEqual(["val-env/success", "train/success", "timing_s/step"]);
  expect(drawnMetrics([])).toEqual([]);
});

it("are the successes of each tag, too, where there are several", () => {
  expect(drawnMetrics([...names, "val-env/B/success"])).toEqual([
    "val-env/success",
    "train/success",
    "train/A/success",
    "val-env/A/success",
    "val-env/B/success",
    "timing_s/step",
  ]);
});

it("are all in the catalogue", () => {
  expect(mainMetricNames.filter((name) => entryOf(name) === undefined)).toEqual([]);
});
