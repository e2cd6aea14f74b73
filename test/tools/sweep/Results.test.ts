/** The table of a sweep as text, CSV and JSON. */
import { Result } from "effect";
import { describe, expect, it } from "vitest";
import { csvOf, type Finished, jsonOf, metricsOf, resultsOf, textRows } from "../../../src/tools/sweep/Results.ts";
import { read } from "../../../src/tools/sweep/SweepFile.ts";

const file = Result.getOrThrow(
  read(
    { config: "x", seeds: [0, 1], points: { a: {} }, metrics: [{ metric: "train/success", of: ["last", "best"] }] },
    "s",
  ),
);
const finished = (seed: number, ...values: readonly number[]): Finished => ({
  seed,
  curves: new Map([["train/success", values.map((value, step) => ({ step, value }))]]),
});
const one = { name: "value=0.9,on", settings: { "filter.value": 0.9 } };
const two = { name: "none", settings: { "filter.include_zero": true } };
const results = resultsOf(file, [
  [one, [finished(0, 0.9, 0.4), finished(1, 0.3, 0.6)]],
  [two, [finished(0, 0.25)]],
]);

describe("the table", () => {
  it("has means with intervals over the finished runs, and how many there are", () => {
    expect(textRows(results)).toEqual([
      ["point", "runs", "train/success last", "train/success best"],
      ["value=0.9,on", "2/2", "0.5 [0, 1]", "0.75 [0, 1]"],
      ["none", "1/2", "0.25", "0.25"],
    ]);
  });

  it("has no interval of a share beyond 0 and 1, and no bounds of another mean", () => {
    const returns = Result.getOrThrow(
      read(
        {
          config: "x",
          seeds: [0, 1],
          points: { a: {} },
          metrics: [{ metric: "train/charts/avg_episode_return", of: ["last"] }],
        },
        "s",
      ),
    );
    const curves = (value: number) => new Map([["train/charts/avg_episode_return", [{ step: 1, value }]]]);
    const both = [0.4, 0.6].map((value, seed) => ({ seed, curves: curves(value) }));
    expect(textRows(resultsOf(returns, [[one, both]]))[1]).toEqual([one.name, "2/2", "0.5 [-0.7706, 1.771]"]);
  });

  it("has a metric's value when another has reached one, of the runs in which it has", () => {
    const { metrics, ...others } = Result.getOrThrow(
      read(
        {
          config: "x",
          seeds: [0, 1, 2],
          points: { a: {} },
          metrics: [{ metric: "ledger/tokens/admitted", until: { metric: "val-env/success", value: 0.5 } }],
        },
        "s",
      ),
    );
    expect([...metricsOf(metrics)]).toEqual(["ledger/tokens/admitted", "val-env/success"]);
    const tokens = [100, 200, 300, 400].map((value, index) => ({ step: index + 1, value }));
    const run = (seed: number, ...success: readonly number[]): Finished => ({
      seed,
      curves: new Map([
        ["ledger/tokens/admitted", tokens],
        ["val-env/success", success.map((value, index) => ({ step: 2 * index, value }))],
      ]),
    });
    const reached = resultsOf({ ...others, metrics }, [[one, [run(0, 0.1, 0.5, 0.4), run(1, 0.2, 0.3, 0.9)]]]);
    expect(textRows(reached)).toEqual([
      ["point", "runs", "ledger/tokens/admitted until val-env/success is 0.5"],
      [one.name, "2/3", expect.stringMatching(/^300 \[/)],
    ]);
    const partly = resultsOf({ ...others, metrics }, [[one, [run(0, 0.1, 0.5), run(1, 0.2, 0.3)]]]);
    expect(textRows(partly)[1]?.at(-1)).toBe("200 (1 of 2 runs)");
    const never = resultsOf({ ...others, metrics }, [[one, [run(0, 0.1, 0.4)]]]);
    expect(textRows(never)[1]?.at(-1)).toBe("-");
  });

  it("shows nothing of a point without finished runs or without the metric", () => {
    const empty = resultsOf(file, [
      [one, []],
      [two, [{ seed: 0, curves: new Map() }]],
    ]);
    expect(textRows(empty).slice(1)).toEqual([
      ["value=0.9,on", "0/2", "-", "-"],
      ["none", "1/2", "-", "-"],
    ]);
    expect(jsonOf("s", empty)).not.toContain('"mean"');
  });

  it("is CSV with a column for each key that a point sets", () => {
    const [head, first, second] = csvOf(results)
      .split("\n")
      .map((line) => line.split(","));
    expect(head!.slice(0, 7)).toEqual([
      "point",
      "filter.value",
      "filter.include_zero",
      "train/success last",
      "train/success last low",
      "train/success last high",
      "train/success last runs",
    ]);
    expect(first!.slice(0, 3)).toEqual(['"value=0.9', 'on"', "0.9"]);
    expect(second!.slice(0, 7)).toEqual(["none", "", "true", "0.25", "", "", "1"]);
  });

  it("is JSON with the settings, the seeds and each result", () => {
    const { points } = JSON.parse(jsonOf("s", results));
    expect(points[0]).toMatchObject({ name: "value=0.9,on", settings: { "filter.value": 0.9 }, seeds: [0, 1] });
    expect(points[0].results[0]).toMatchObject({ metric: "train/success", of: "last", mean: 0.5, values: 2 });
  });
});
