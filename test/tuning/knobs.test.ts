import { describe, expect, it } from "vitest";
import { mostSlots } from "../../src/config/mostSlots.ts";
import { optionsOf } from "../../src/tuning/knobs.ts";
import { configOf } from "../pipelines/tiny.ts";

describe("what the autotuner may change", () => {
  it("is bounded by admission, caches and threads", () => {
    const config = configOf("/nowhere");
    const { knobs, setting } = optionsOf(config);
    const most = mostSlots(config);
    for (const { least, most: bound, stage } of knobs) {
      expect(least).toBe(1);
      expect(bound).toBeLessThanOrEqual(most[stage]!);
      expect(setting.most?.get(stage)).toBe(bound);
    }
    expect(knobs.map(({ stage }) => stage)).toContain("generate");
  });

  it("leaves rollouts alone in lockstep, which needs every group of a window", () => {
    const { knobs } = optionsOf(configOf("/nowhere", { pipeline: { mode: "lockstep" } }));
    expect(knobs.map(({ stage }) => stage)).not.toContain("rollout");
  });
});
