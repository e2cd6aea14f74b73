import { describe, expect, it } from "vitest";
import { type CatalogueEntry, catalogue, nameOf } from "../../../../src/domain/metrics/Catalogue.ts";
import * as Series from "../../../../src/observe/sinks/export/Series.ts";
import { nameOf as otlpName } from "../../../../src/observe/sinks/otlp/OtlpSink.ts";
import { nameOf as prometheusName } from "../../../../src/observe/sinks/prometheus/Exposition.ts";
import { stepRecord } from "../../../build/records.ts";
import { run, sample, stage } from "../fixtures.ts";

/** A metric of each entry; parameters stand for themselves. */
const names = catalogue
  .flatMap(({ entries }) => entries)
  .map((entry: CatalogueEntry) => nameOf(entry).replace(/[{}]/g, ""));

const everything = [
  ...Series.ofRun(run),
  ...Series.ofStep(stepRecord(3, Object.fromEntries(names.map((name) => [name, 1])))),
  ...Series.ofSample(sample(1000, [stage("rollout"), stage("step")])),
];

const duplicates = (nameOf: (series: Series.Series) => string): readonly string[] => {
  const byName = Map.groupBy(everything, nameOf);
  return [...byName].flatMap(([name, all]) => {
    const shapes = new Set(
      all.map(({ help, kind, labels, unit }) => JSON.stringify([help, kind, unit, Object.keys(labels)])),
    );
    return shapes.size === 1 ? [] : [name];
  });
};

describe("the series of a run", () => {
  it("have one help, kind, unit and set of labels for each name, over the whole catalogue", () => {
    expect(everything.length).toBeGreaterThan(150);
    expect(duplicates(prometheusName)).toEqual([]);
    expect(duplicates(otlpName)).toEqual([]);
  });

  it("take what differs within a family as labels", () => {
    const [, busy, success, pass] = Series.ofStep(
      stepRecord(3, { "stage/rollout/busy": 0.5, "val-env/Sokoban/success": 0.25, "train/Sokoban/pass@8": 1 }),
    );
    expect(busy).toMatchObject({ path: ["stage", "busy"], labels: { stage: "rollout" }, value: 0.5, kind: "gauge" });
    expect(success).toMatchObject({
      path: ["episodes", "tag", "success"],
      labels: { split: "val-env", tag: "Sokoban" },
    });
    expect(pass).toMatchObject({
      path: ["episodes", "tag", "pass"],
      labels: { split: "train", tag: "Sokoban", size: "8" },
    });
  });

  it("keep a family apart from the metric that it is named after", () => {
    const [, norm, part, accuracy, at] = Series.ofStep(
      stepRecord(3, {
        "actor/grad_norm": 1,
        "actor/grad_norm/task": 2,
        "collapse_trajectory_sample/retrieval_accuracy": 0.5,
        "collapse_trajectory_sample/retrieval_accuracy@4": 0.75,
      }),
    );
    expect([norm, part].map((series) => series?.path)).toEqual([
      ["actor", "grad_norm"],
      ["actor", "grad_norm", "part"],
    ]);
    expect([accuracy, at].map((series) => series?.path)).toEqual([
      ["collapse_sample", "retrieval_accuracy"],
      ["collapse_sample", "retrieval_accuracy_at_k"],
    ]);
    expect(at?.labels).toEqual({ drawing: "trajectory", k: "4" });
  });

  it("count times in seconds", () => {
    const [, adoption, update] = Series.ofStep(stepRecord(3, { "generation/adoption_ms": 4, "timing_s/update": 2 }));
    expect(adoption).toMatchObject({ unit: "s", value: 0.004, path: ["generation", "adoption"] });
    expect(update).toMatchObject({ unit: "s", value: 2, path: ["timing", "update"] });
  });

  it("keep a metric that the catalogue does not have", () => {
    expect(Series.ofStep(stepRecord(3, { "my/own": 7 }))[1]).toMatchObject({
      path: ["my", "own"],
      value: 7,
      labels: {},
    });
  });
});

describe("Prometheus's names", () => {
  const named = (metric: string) => prometheusName(Series.ofStep(stepRecord(1, { [metric]: 1 }))[1]!);

  it("tell base units and what counts since the run began, and keep off reserved endings", () => {
    expect(named("stage/rollout/busy")).toBe("millrace_stage_busy");
    expect(named("ledger/admitted")).toBe("millrace_ledger_admitted_total");
    expect(named("timing_s/total")).toBe("millrace_timing_seconds_total");
    expect(named("timing_s/update_actor")).toBe("millrace_timing_seconds");
    expect(named("step/hung_seconds")).toBe("millrace_step_hung_seconds_total");
    expect(named("rollout/filter_kept_count")).toBe("millrace_rollout_filter_kept_count_groups");
  });
});
