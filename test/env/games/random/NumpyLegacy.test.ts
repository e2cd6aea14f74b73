/** The draws of numpy's RandomState, one after the other from one seeding, against what numpy drew. */
import { describe, expect, it } from "vitest";
import { numpyLegacy } from "../../../../src/env/games/random/NumpyLegacy.ts";
import { golden, times, upTo } from "./golden.ts";

describe.each(golden.legacy)("numpy's RandomState under seed $seed", (expected) => {
  it("draws what numpy draws, kind after kind", () => {
    const random = numpyLegacy(expected.seed);
    expect(times(6, random.uint32)).toEqual(expected.words);
    expect(times(6, random.uniform)).toEqual(expected.uniform);
    for (const [bound, draw] of expected.int) expect([bound, random.int(bound)]).toEqual([bound, draw]);
    expect(times(8, () => random.range(-3, 6))).toEqual(expected.range);
    expect(times(8, () => random.pick([..."abcdefg"]))).toEqual(expected.pick);
    expect(times(12, () => random.weighted(golden.weights))).toEqual(expected.weighted);
    expect(random.permutation(17)).toEqual(expected.permutation);
    expect(random.shuffle(upTo(11))).toEqual(expected.shuffle);
    expect(times(2000, random.uint32).slice(-3)).toEqual(expected.late);
  });
});

describe("numpy's RandomState", () => {
  it.each([-1, 2 ** 32, 1.5, Number.NaN])("refuses the seed %d, as numpy does", (seed) => {
    expect(() => numpyLegacy(seed)).toThrow(RangeError);
  });
});
