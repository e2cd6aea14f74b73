import { describe, expect, it } from "vitest";
import { CallTimes, callsBetween } from "../../src/flow/CallTimes.ts";
import { Gauge } from "../../src/flow/Gauge.ts";

describe("times of calls by the level at which they begin", () => {
  it("counts a call for the level it began at, whatever the level is when it ends", () => {
    let now = 0n;
    const gauge = new Gauge(
      { name: "step", kind: "service", concurrency: 4, capacity: 0 },
      { monotonicTimeNanosUnsafe: () => now * 1_000_000n },
    );
    const first = gauge.callBegun();
    const second = gauge.callBegun();
    now = 9n;
    gauge.callEnded(first);
    now = 16n;
    gauge.callEnded(second);
    const [one, two] = gauge.sample().calls;
    expect(one).toMatchObject({ begun: 1, served: 1, levels: 1, roots: 3 });
    expect(two).toMatchObject({ begun: 1, served: 1, levels: 2, roots: 4 });
  });

  it("takes the time of one item of a call that has several", () => {
    let now = 0n;
    const gauge = new Gauge(
      { name: "step", kind: "service", concurrency: 1, capacity: 0 },
      { monotonicTimeNanosUnsafe: () => now * 1_000_000n },
    );
    const batch = gauge.callBegun(4);
    now = 100n;
    gauge.callEnded(batch, 4);
    expect(gauge.sample().calls).toMatchObject([{ served: 1, roots: 5 }]);
  });

  it("has a band for each small level, and common ones for large levels", () => {
    const times = new CallTimes();
    for (let level = 1; level <= 16; level++) times.begin(level);
    expect(times.sample().map(({ begun }) => begun)).toEqual(Array.from({ length: 16 }, () => 1));
    const large = new CallTimes();
    for (const level of [1000, 1001, 1002]) large.begin(level);
    expect(large.sample().map(({ begun }) => begun)).toEqual([3]);
  });

  it("tells what was begun and served between two samples, and nothing of other bands", () => {
    const times = new CallTimes();
    times.begin(1);
    times.end(1, 4);
    times.begin(8);
    const before = times.sample();
    times.end(8, 25);
    times.begin(8);
    expect(callsBetween(before, times.sample())).toMatchObject([{ begun: 1, served: 1, levels: 8, roots: 5 }]);
  });
});
