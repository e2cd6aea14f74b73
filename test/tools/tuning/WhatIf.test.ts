import { describe, expect, it } from "vitest";
import type { Throughput } from "../../../src/tools/tuning/ObservedRun.ts";
import {
  bestOf,
  errorOf,
  gainOf,
  medianOf,
  type Result,
  spreadOf,
  withRun,
} from "../../../src/tools/tuning/Results.ts";
import { biasOf, whatIf } from "../../../src/tools/tuning/WhatIf.ts";
import { tinyConfig } from "../../build/tinyConfig.ts";
import { machine, observe, settings } from "./synthetic.ts";

const pace = (windowsPerHour: number): Throughput => ({
  windowsPerHour,
  trainedPerSecond: windowsPerHour / 2,
  staleShare: 0.5,
  meanBehind: 0.75,
  mostBehind: 2,
});

const current: Result = { settings, predicted: pace(100), measured: [pace(90), pace(110), pace(95)] };
const other: Result = { settings: { ...settings, slots: 32 }, predicted: pace(126), measured: [pace(120)] };
const unmeasured: Result = { settings: { ...settings, slots: 8 }, predicted: pace(300), measured: [] };

describe("results of real runs", () => {
  it("are medians, with the largest distance from them", () => {
    expect(medianOf(current)?.windowsPerHour).toBe(95);
    expect(spreadOf(current)).toBeCloseTo(15 / 95);
    expect(errorOf(current)).toBeCloseTo(5 / 95);
  });

  it("have a best one only among those that were measured", () => {
    expect(bestOf([current, unmeasured, other])).toBe(other);
    expect(bestOf([unmeasured])).toBeUndefined();
    expect(gainOf(other, current)).toBeCloseTo(25 / 95);
    expect(gainOf(unmeasured, current)).toBeUndefined();
  });

  it("take in a run of their own settings alone", () => {
    const results = withRun([current, other], observe(machine, other.settings, 4));
    expect(results.map(({ measured }) => measured.length)).toEqual([3, 2]);
  });
});

describe("the what-if table", () => {
  it("shows what was predicted beside what was measured, the best first, and leaves empty what was not", () => {
    const [, first, second, third, fourth] = whatIf(settings, [current, other, unmeasured], [unmeasured]);
    expect(first).toEqual(["126", "120", "+5.0 %", "60.0", "0.75 / 2", "50 %", "slots=32"]);
    expect(second).toEqual(["100", "95.0 ±16 %", "+5.3 %", "47.5", "0.75 / 2", "50 %", "as in the run file"]);
    expect(third?.slice(1, 3)).toEqual(["", ""]);
    expect(fourth).toEqual(third);
  });

  it("says in words what is biased", () => {
    const config = tinyConfig("/nowhere", { generation: { top_k: 40, allow_truncated_sampling: true } });
    const [stale, order, caches, cut] = biasOf(config, { ...settings, order: "completion" }, pace(1));
    expect(stale).toContain(
      "50 % of the trained tokens are from older weights, 0.75 versions on average and 2 at most",
    );
    expect(order).toContain("completion");
    expect(caches).toContain("caches");
    expect(cut).toContain("top_k");
    const onPolicy = { ...pace(1), staleShare: 0 };
    expect(biasOf(tinyConfig("/nowhere"), { ...settings, mode: "sync" }, onPolicy)).toEqual([
      "No trained token is from older weights.",
    ]);
  });
});
