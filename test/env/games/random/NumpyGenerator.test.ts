/** The draws of numpy's default_rng, one after the other from one seeding, against what numpy drew. */
import { describe, expect, it } from "vitest";
import { numpyGenerator, seedSequence } from "../../../../src/env/games/random/NumpyGenerator.ts";
import { golden, times, upTo } from "./golden.ts";

describe.each(golden.generator)("numpy's default_rng under seed $seed", (expected) => {
  it("spreads the seed as numpy does", () => {
    expect(seedSequence(expected.seed, 10)).toEqual(expected.sequence);
  });

  it("draws what numpy draws, kind after kind", () => {
    const random = numpyGenerator(expected.seed);
    expect(times(6, random.uint32)).toEqual(expected.words);
    // A half output is held over a draw that takes a whole one.
    expect([random.int(5), random.uniform(), random.int(5), random.uniform()]).toEqual(expected.odd);
    expect(times(6, random.uniform)).toEqual(expected.uniform);
    for (const [bound, draw] of expected.int) expect([bound, random.int(bound)]).toEqual([bound, draw]);
    expect(times(8, () => random.range(-3, 6))).toEqual(expected.range);
    expect(times(8, () => random.pick([..."abcdefg"]))).toEqual(expected.pick);
    expect(times(12, () => random.weighted(golden.weights))).toEqual(expected.weighted);
    expect(random.permutation(17)).toEqual(expected.permutation);
    expect(random.shuffle(upTo(11))).toEqual(expected.shuffle);
    for (const [count, size, drawn] of expected.distinct) expect(random.distinct(count, size)).toEqual(drawn);
    const [count, size, last] = expected.tail;
    expect(random.distinct(count, size).slice(-last.length)).toEqual(last);
    expect(times(50, random.uint32).slice(-3)).toEqual(expected.late);
  });
});
