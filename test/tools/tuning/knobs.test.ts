import { describe, expect, it } from "vitest";
import { maxPermits } from "../../../src/config/maxPermits.ts";
import { optionsOf } from "../../../src/tools/tuning/knobs.ts";
import { tinyConfig } from "../../build/tinyConfig.ts";

describe("what the autotuner may change", () => {
  it("is bounded by admission, caches and threads", () => {
    const config = tinyConfig("/nowhere");
    const { knobs, setting } = optionsOf(config);
    const most = maxPermits(config);
    for (const { least, most: bound, stage } of knobs) {
      expect(least).toBe(1);
      expect(bound).toBeLessThanOrEqual(most[stage]!);
      expect(setting.most?.get(stage)).toBe(bound);
    }
    expect(knobs.map(({ stage }) => stage)).toContain("generate");
  });

  it("leaves rollouts alone in lockstep, which needs every group of a window", () => {
    const { knobs } = optionsOf(tinyConfig("/nowhere", { pipeline: { mode: "lockstep" } }));
    expect(knobs.map(({ stage }) => stage)).not.toContain("rollout");
  });

  it("includes the learner's lanes, with the windows that may be made ahead", () => {
    const lanesOf = (mode: string) =>
      optionsOf(tinyConfig("/nowhere", { model: { learner_lanes: 3 }, pipeline: { mode, max_staleness: 2 } })).lanes;
    expect(lanesOf("async")).toEqual({ most: 3, lead: 2 });
    expect(lanesOf("sync")).toEqual({ most: 3, lead: 0 });
  });
});
