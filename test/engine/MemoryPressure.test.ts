import { describe, expect, it } from "vitest";
import { halvedUnder, memoryLimit } from "../../src/engine/MemoryPressure.ts";

const GIB = 2 ** 30;
const short = { elapsedMs: 60_000, rssBytes: 9.5 * GIB, limitBytes: 10 * GIB, concurrency: 9 };

describe("memory pressure", () => {
  it("halves the groups in flight near the limit", () => {
    expect(halvedUnder(null, short)).toBe(4);
  });

  it.each([
    ["memory suffices", null, { ...short, rssBytes: 9 * GIB }],
    ["there is no limit", null, { ...short, limitBytes: Number.POSITIVE_INFINITY }],
    ["one group is in flight", null, { ...short, concurrency: 1 }],
    ["they were halved a moment ago", 45_000, short],
  ] as const)("leaves them as they are where %s", (_, last, pressure) => {
    expect(halvedUnder(last, pressure)).toBeNull();
  });

  it("goes on down to one group while memory stays short", () => {
    const counts: number[] = [];
    let [concurrency, last]: [number, number | null] = [9, null];
    for (let elapsedMs = 0; elapsedMs < 600_000; elapsedMs += 1_000) {
      const next = halvedUnder(last, { ...short, elapsedMs, concurrency });
      if (next === null) continue;
      [concurrency, last] = [next, elapsedMs];
      counts.push(next);
    }
    expect(counts).toEqual([4, 2, 1]);
  });

  it("reads a limit of this machine", () => {
    expect(memoryLimit()).toBeGreaterThan(0);
  });
});
