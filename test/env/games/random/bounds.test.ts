/** Every source of draws refuses a bound that no draw can meet, and does not loop for ever. */
import { describe, expect, it } from "vitest";
import { stream } from "../../../../src/domain/Random.ts";
import { numpyGenerator } from "../../../../src/env/games/random/NumpyGenerator.ts";
import { numpyLegacy } from "../../../../src/env/games/random/NumpyLegacy.ts";
import { pythonRandom } from "../../../../src/env/games/random/PythonRandom.ts";

describe.each([
  ["a stream", () => stream({ seed: 1, purpose: "play", counters: [] })],
  ["numpy's default_rng", () => numpyGenerator(1)],
  ["numpy's RandomState", () => numpyLegacy(1)],
  ["Python's random", () => pythonRandom(1)],
])("%s", (_, source) => {
  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("refuses to draw an integer below %d", (bound) => {
    expect(() => source().int(bound)).toThrow(RangeError);
  });

  it("refuses to pick from an empty list, and shuffles it", () => {
    expect(() => source().pick([])).toThrow(RangeError);
    expect(source().shuffle([])).toEqual([]);
  });

  it("draws below the largest bound of a word", () => {
    expect(source().int(2 ** 32)).toBeLessThan(2 ** 32);
  });
});

describe("a stream", () => {
  it("refuses a bound beyond one word, below which it would draw only some integers", () => {
    expect(() => stream({ seed: 1, purpose: "play", counters: [] }).int(2 ** 32 + 1)).toThrow(RangeError);
  });
});

describe("Python's random", () => {
  it("refuses to sample more items than there are", () => {
    expect(() => pythonRandom(1).sample([1, 2], 3)).toThrow(RangeError);
  });
});
