import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { analysisGroups, apportion } from "../../src/config/analysisGroups.ts";
import { assertProperty } from "../property.ts";
import { resolved } from "./configs.ts";

const groupsOf = (...overrides: readonly string[]) => analysisGroups(resolved("", ...overrides).config);
const mixed = [
  "es_manager.train.env_groups=8",
  "es_manager.train.tags=[Bandit, FrozenLake]",
  "es_manager.train.n_groups=[5, 3]",
];

describe("the groups of an analysis", () => {
  it("are training's where nothing else is said", () => {
    expect(groupsOf()).toBeNull();
    expect(groupsOf("trainer.gradient_analysis_env_groups=8", "trainer.gradient_analysis_group_size=16")).toBeNull();
    expect(groupsOf("trainer.gradient_analysis_env_groups=null")).toBeNull();
  });

  it("have the numbers that are given, and training's where none is", () => {
    expect(groupsOf("trainer.gradient_analysis_env_groups=128")).toMatchObject({ env_groups: 128, group_size: 16 });
    expect(groupsOf("trainer.gradient_analysis_group_size=4")).toMatchObject({ env_groups: 8, group_size: 4 });
  });

  it("are of training's presets in its proportions", () => {
    const proportional = groupsOf(...mixed, "trainer.gradient_analysis_env_groups=12");
    expect(proportional).toMatchObject({ tags: ["Bandit", "FrozenLake"], n_groups: [8, 4] });
  });
});

describe("a number shared in proportions", () => {
  it("gives what is left to the largest remainders, of equal ones to the larger count, then to the first", () => {
    expect(apportion([1, 1, 1], 4)).toEqual([2, 1, 1]);
    expect(apportion([3, 1], 2)).toEqual([2, 0]);
    expect(apportion([1, 3], 2)).toEqual([0, 2]);
    expect(apportion([5, 3], 128)).toEqual([80, 48]);
  });

  it("sums to it, each share less than one away from its proportion", () => {
    const counts = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 8 });
    assertProperty(
      fc.property(counts, fc.integer({ min: 1, max: 9_999 }), (counts, total) => {
        const shares = apportion(counts, total);
        const all = counts.reduce((a, b) => a + b, 0);
        expect(shares.reduce((a, b) => a + b, 0)).toBe(total);
        for (const [i, share] of shares.entries()) expect(Math.abs(share - (total * counts[i]!) / all)).toBeLessThan(1);
      }),
    );
  });
});
