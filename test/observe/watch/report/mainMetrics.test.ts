/** Which metrics a report draws. */
import { expect, it } from "vitest";
import { entryOf } from "../../../../src/domain/metrics/Catalogue.ts";
import { main, mainMetrics } from "../../../../src/observe/watch/report/mainMetrics.ts";

const names = ["timing_s/step", "train/A/success", "val-env/A/success", "train/success", "made/up", "val-env/success"];

it("are the main ones in an order of their own, whatever order a run has", () => {
  expect(mainMetrics(names)).toEqual(["val-env/success", "train/success", "timing_s/step"]);
  expect(mainMetrics([])).toEqual([]);
});

it("are the successes of each tag, too, where there are several", () => {
  expect(mainMetrics([...names, "val-env/B/success"])).toEqual([
    "val-env/success",
    "train/success",
    "train/A/success",
    "val-env/A/success",
    "val-env/B/success",
    "timing_s/step",
  ]);
});

it("are all in the catalogue", () => {
  expect(main.filter((name) => entryOf(name) === undefined)).toEqual([]);
});
