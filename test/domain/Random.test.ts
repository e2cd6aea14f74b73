import { describe, expect, it } from "vitest";
import { philox, type StreamKey, stream } from "../../src/domain/Random.ts";

const block = (...words: [number, number, number, number, number, number]): string[] => {
  const out = new Uint32Array(4);
  philox(out, ...words);
  return Array.from(out, (word) => word.toString(16).padStart(8, "0"));
};

const key = (over: Partial<StreamKey> = {}): StreamKey => ({
  seed: 7,
  purpose: "sampling",
  counters: [1, 2, 3],
  ...over,
});
const draws = (from: StreamKey, n = 8): number[] => {
  const random = stream(from);
  return Array.from({ length: n }, random.uint32);
};

describe("Philox4x32-10", () => {
  it("gives the known answers of the reference implementation", () => {
    const ones = 0xffffffff;
    expect(block(0, 0, 0, 0, 0, 0)).toEqual(["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]);
    expect(block(ones, ones, ones, ones, ones, ones)).toEqual(["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"]);
    expect(block(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0)).toEqual([
      "d16cfe09",
      "94fdcceb",
      "5001e420",
      "24126ea1",
    ]);
  });
});

describe("a stream", () => {
  it("is a pure function of its key", () => {
    expect(draws(key())).toEqual(draws(key()));
    const other = stream(key({ counters: [9] }));
    other.uint32();
    expect(draws(key())).toEqual(draws(key()));
  });

  it.each<[string, Partial<StreamKey>]>([
    ["seed", { seed: 8 }],
    ["high bits of the seed", { seed: 7 + 2 ** 32 }],
    ["purpose", { purpose: "noise" }],
    ["first counter", { counters: [2, 2, 3] }],
    ["third counter", { counters: [1, 2, 4] }],
    ["a fourth counter", { counters: [1, 2, 3, 4] }],
    ["a fifth counter", { counters: [1, 2, 3, 4, 5] }],
  ])("changes with its %s", (_, over) => {
    expect(draws(key(over))).not.toEqual(draws(key()));
  });

  it("gives each value below a bound equally often", () => {
    const random = stream(key());
    const counts = new Array<number>(7).fill(0);
    const n = 70_000;
    for (let i = 0; i < n; i++) counts[random.int(7)]!++;
    const chiSquare = counts.reduce((sum, count) => sum + (count - n / 7) ** 2 / (n / 7), 0);
    expect(chiSquare).toBeLessThan(22.5); // 6 degrees of freedom, p = 0.001
  });

  it("rejects the draws that would favour small values of a large bound", () => {
    // With bound 3 * 2^30 a plain remainder would give the lowest third half of all draws.
    const random = stream(key());
    const bound = 3 * 2 ** 30;
    let low = 0;
    for (let i = 0; i < 30_000; i++) if (random.int(bound) < 2 ** 30) low++;
    expect(Math.abs(low / 30_000 - 1 / 3)).toBeLessThan(0.012);
  });

  it("gives uniforms in [0, 1) and normals with mean 0 and variance 1", () => {
    const random = stream(key());
    const uniforms = Array.from({ length: 20_000 }, random.uniform);
    expect(Math.min(...uniforms)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...uniforms)).toBeLessThan(1);
    const normals = Array.from({ length: 20_000 }, random.normal);
    const mean = normals.reduce((sum, x) => sum + x, 0) / normals.length;
    const variance = normals.reduce((sum, x) => sum + (x - mean) ** 2, 0) / normals.length;
    expect(Math.abs(mean)).toBeLessThan(0.03);
    expect(Math.abs(variance - 1)).toBeLessThan(0.04);
  });

  it("shuffles a copy into a permutation, every position reached", () => {
    const items = [0, 1, 2, 3, 4];
    const random = stream(key({ purpose: "shuffle" }));
    const firsts = new Set<number>();
    for (let i = 0; i < 200; i++) {
      const shuffled = random.shuffle(items);
      firsts.add(shuffled[0]!);
      expect(shuffled.toSorted((a, b) => a - b)).toEqual(items);
    }
    expect(firsts.size).toBe(5);
    expect(items).toEqual([0, 1, 2, 3, 4]);
  });

  it("picks every item of a list", () => {
    const random = stream(key());
    const seen = new Set(Array.from({ length: 100 }, () => random.pick(["a", "b", "c"])));
    expect([...seen].sort()).toEqual(["a", "b", "c"]);
  });
});
