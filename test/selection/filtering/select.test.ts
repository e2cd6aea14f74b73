import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FilterSection } from "../../../src/config/sections/FilterSection.ts";
import { type SelectionRule, select } from "../../../src/selection/filtering/select.ts";
import { configsOf } from "../../build/config.ts";
import { assertProperty } from "../../property.ts";

const filterWith = configsOf(FilterSection, { value: 0.9, include_zero: false });
const rule = (changes: Partial<SelectionRule>): SelectionRule => filterWith({ ...changes });
const softmax = { top_p_mode: "softmax" } as const;
/** The n-th quarter of the ranking. */
const quarter = (n: number) => ({ percentile_low: n / 4, percentile_high: (n + 1) / 4 });
const smallest = { type: "smallest" } as const;

describe("select", () => {
  it.each<[string, Partial<SelectionRule>, number[], number[]]>([
    ["linear 0.9, one dominates", {}, [10, 1, 0, 0], [0]],
    ["linear 0.9, two", {}, [4, 2, 0, 0], [0, 1]],
    ["linear 0.9, three", {}, [3, 1, 1, 0], [0, 1, 2]],
    ["linear 0.9, no spread", {}, [0, 0, 0, 0], []],
    ["linear 0.9, spread within the slack", {}, [0.005, 0, 0, 0], []],
    ["linear 0.6", { value: 0.6 }, [4, 3, 2, 1], [0, 1]],
    ["linear 0.5, ties", { value: 0.5 }, [0.5, 0.5, 0.5, 0.5], [0, 1]],
    ["linear 0.6 smallest", { value: 0.6, ...smallest }, [4, 3, 2, 1], [3, 2, 1]],
    ["softmax 0.6, ties", { value: 0.6, ...softmax }, [1, 1, 1], [0, 1]],
    ["softmax 0.9, one dominates", softmax, [10, 1, 0, 0], [0]],
    ["softmax 0.4 smallest", { value: 0.4, ...softmax, ...smallest }, [9, 1, 5], [1]],
    ["linear, zeros allowed: a score of zero stops the walk", { include_zero: true }, [4, 2, 0, 0], [0, 1]],
    ["top_p 1 keeps everything that is not zero", { value: 1 }, [0, 3, 1], [1, 2]],
    ["top_p 1 with zeros keeps everything", { value: 1, include_zero: true }, [0, 3, 1], [1, 2, 0]],
    ["top_k takes its share of all groups", { strategy: "top_k", value: 0.5 }, [5, 0, 1, 0, 0, 2], [0, 5, 2]],
    ["top_k takes at least one", { strategy: "top_k", value: 0.1 }, [1, 2, 3], [2]],
    ["top_k takes no more than there are", { strategy: "top_k", value: 1 }, [1, 0, 0], [0]],
    ["top_k_abs takes a number", { strategy: "top_k_abs", value: 2.9 }, [1, 2, 3], [2, 1]],
    ["top_k smallest", { strategy: "top_k", value: 0.5, ...smallest }, [4, 3, 2, 1], [3, 2]],
    ["top_k_abs takes at least one", { strategy: "top_k_abs", value: 0.9 }, [1, 2, 3], [2]],
    ["the first quarter", { strategy: "percentile_range", ...quarter(0) }, [1, 8, 3, 6, 5, 4, 7, 2], [1, 6]],
    ["the last quarter", { strategy: "percentile_range", ...quarter(3) }, [1, 8, 3, 6, 5, 4, 7, 2], [7, 0]],
    ["a narrow range takes one", { strategy: "percentile_range", ...quarter(1) }, [3, 2, 1], [1]],
    ["ranks round halves to even", { strategy: "percentile_range", ...quarter(1) }, [6, 5, 4, 3, 2, 1], [2]],
    ["ranges of the smallest", { strategy: "percentile_range", ...quarter(0), ...smallest }, [3, 4, 1, 2], [2]],
    ["ranges leave zeros out", { strategy: "percentile_range", ...quarter(3) }, [4, 0, 3, 0, 2, 1], [5]],
    [
      "min_p smallest at 1 keeps the best, however large",
      { strategy: "min_p", value: 1, ...smallest },
      [9e9, 8e9],
      [1],
    ],
    ["min_p keeps what is near the best", { strategy: "min_p", value: 0.5 }, [4, 2, 1], [0, 1]],
    ["min_p smallest", { strategy: "min_p", value: 0.5, ...smallest }, [4, 1.9, 1], [2, 1]],
  ])("%s", (_, changes, scores, kept) => {
    expect(select(scores, scores.length, rule(changes))).toEqual(kept);
  });

  it("takes its share of the whole window where candidates are fewer", () => {
    expect(select([3, 2, 1], 8, rule({ strategy: "top_k", value: 0.25 }))).toEqual([0, 1]);
  });

  it("keeps nothing when no score is left", () => {
    for (const strategy of ["top_p", "top_k", "top_k_abs", "min_p", "percentile_range"] as const) {
      expect(select([0, 1e-11], 2, rule({ strategy, value: 1 }))).toEqual([]);
    }
  });

  const anyRule = fc.record({
    strategy: fc.constantFrom("top_p", "top_k", "top_k_abs", "min_p", "percentile_range", "within_group"),
    value: fc.double({ min: 0, max: 3, noNaN: true }),
    type: fc.constantFrom("largest", "smallest"),
    top_p_mode: fc.constantFrom("linear", "softmax"),
    include_zero: fc.boolean(),
    selection_eps: fc.double({ min: 0, max: 0.1, noNaN: true }),
    percentile_low: fc.constant(0),
    percentile_high: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  const anyScores = fc.array(fc.double({ min: 0, max: 20, noNaN: true }), { maxLength: 12 });

  it("keeps distinct candidates, and none better is left out", () => {
    assertProperty(
      fc.property(anyScores, anyRule, (scores, any) => {
        const kept = select(scores, scores.length, any);
        expect(new Set(kept).size).toBe(kept.length);
        const left = scores.filter((score, i) => !kept.includes(i) && (any.include_zero || score > 1e-10));
        const sign = any.type === "largest" ? 1 : -1;
        for (const index of kept) {
          expect(left.every((score) => sign * score <= sign * scores[index]!)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("always keeps someone by softmax", () => {
    assertProperty(
      fc.property(fc.array(fc.double({ min: 0.1, max: 900, noNaN: true }), { minLength: 1 }), (scores) => {
        expect(select(scores, scores.length, rule(softmax)).length).toBeGreaterThan(0);
      }),
    );
  });
});
