/** Exact cover on small matrices whose covers are known. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findCover, matrixOf } from "../../../../src/env/games/sudoku/ExactCover.ts";
import { assertProperty } from "../../../property.ts";

/** Knuth's example; its only cover is options 0, 3 and 4. */
const knuth = matrixOf(7, [
  [2, 4, 5],
  [0, 3, 6],
  [1, 2, 5],
  [0, 3],
  [1, 6],
  [3, 4, 6],
]);
const budget = 10_000;

describe("a cover", () => {
  it("is found where there is one", () => {
    const found = findCover(knuth, { chosen: [], budget });
    expect(found._tag === "Found" && [...found.options].sort()).toEqual([0, 3, 4]);
  });

  it("contains what was chosen in advance", () => {
    const found = findCover(knuth, { chosen: [4], budget });
    expect(found._tag === "Found" && found.options[0]).toBe(4);
    expect(findCover(knuth, { chosen: [1], budget })._tag).toBe("None");
  });

  it("is none where choices overlap", () => {
    expect(findCover(knuth, { chosen: [0, 2], budget })._tag).toBe("None");
  });

  it("does without an excluded option", () => {
    expect(findCover(knuth, { chosen: [], excluded: 3, budget })._tag).toBe("None");
    expect(findCover(knuth, { chosen: [], excluded: 1, budget })._tag).toBe("Found");
  });

  it("is unknown where the search is given up", () => {
    expect(findCover(knuth, { chosen: [], budget: 1 })._tag).toBe("Unknown");
  });

  it("leaves the matrix as it was", () => {
    const before = structuredClone(knuth);
    findCover(knuth, { chosen: [3], budget });
    expect(knuth).toEqual(before);
  });

  it("is there exactly where trying all subsets finds one", () => {
    const items = 5;
    const option = fc.uniqueArray(fc.integer({ min: 0, max: items - 1 }), { minLength: 1, maxLength: 3 });
    assertProperty(
      fc.property(fc.array(option, { maxLength: 8 }), (options) => {
        const covers = (subset: number): boolean => {
          const covered = options.flatMap((option, at) => ((subset >> at) & 1 ? option : []));
          return covered.length === items && new Set(covered).size === items;
        };
        const possible = Array.from({ length: 2 ** options.length }, (_, subset) => subset).some(covers);
        const found = findCover(matrixOf(items, options), { chosen: [], budget });
        expect(found._tag).toBe(possible ? "Found" : "None");
        if (found._tag === "Found") expect(covers(found.options.reduce((bits, at) => bits | (1 << at), 0))).toBe(true);
      }),
    );
  });
});
