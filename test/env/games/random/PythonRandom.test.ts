/** Python's draws, one after the other from one seeding, against what Python drew. */
import { describe, expect, it } from "vitest";
import { pythonRandom } from "../../../../src/env/games/random/PythonRandom.ts";
import { golden, times, upTo } from "./golden.ts";

describe.each(golden.python)("Python's random under seed $seed", (expected) => {
  it("draws what Python draws, kind after kind", () => {
    const random = pythonRandom(expected.seed);
    expect(times(6, random.uint32)).toEqual(expected.words);
    expect(times(6, random.uniform)).toEqual(expected.uniform);
    for (const [count, draw] of expected.bits) expect([count, random.bits(count)]).toEqual([count, draw]);
    for (const [bound, draw] of expected.int) expect([bound, random.int(bound)]).toEqual([bound, draw]);
    expect(times(8, () => random.between(-3, 5))).toEqual(expected.between);
    expect(times(8, () => random.pick([..."abcdefg"]))).toEqual(expected.pick);
    for (const [size, count, drawn] of expected.samples) expect(random.sample(upTo(size), count)).toEqual(drawn);
    expect(random.shuffle(upTo(17))).toEqual(expected.shuffle);
    expect(times(2000, random.uint32).slice(-3)).toEqual(expected.late);
  });
});

describe("Python's random", () => {
  it("ignores the sign of a seed", () => {
    expect(times(4, pythonRandom(-77).uint32)).toEqual(times(4, pythonRandom(77).uint32));
  });

  it("leaves the items it shuffles and samples as they were", () => {
    const items = upTo(9);
    pythonRandom(1).shuffle(items);
    pythonRandom(1).sample(items, 4);
    expect(items).toEqual(upTo(9));
  });
});
