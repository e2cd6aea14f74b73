import { describe, expect, it } from "vitest";
import { stream } from "../../../src/domain/Random.ts";
import * as WindowRate from "../../../src/tools/tuning/WindowRate.ts";

/** The window rate after looks once a second at windows that are done at these times, in milliseconds. */
const seen = (doneAt: readonly number[], until: number, from = WindowRate.start(0)): WindowRate.State => {
  let pace = from;
  for (let at = 1000; at <= until; at += 1000) {
    pace = WindowRate.add(pace, { elapsedMs: at, lookMs: 1000, windows: doneAt.filter((time) => time <= at).length });
  }
  return pace;
};

/** Times of so many windows of such a mean time that scatters by a half to either side. */
const scattered = (mean: number, count: number, seed: number): readonly number[] => {
  const draws = stream({ seed, purpose: "play", counters: [] });
  let at = 0;
  return Array.from({ length: count }, () => {
    at += mean * (0.5 + draws.uniform());
    return at;
  });
};

describe("the pace of windows", () => {
  it("is not known from few windows, or little time", () => {
    expect(WindowRate.estimate(seen([9000, 18_000, 27_000, 36_000, 45_000], 60_000))).toBeNull();
    expect(WindowRate.estimate(seen(scattered(500, 20, 1), 15_000))).toBeNull();
  });

  it("is windows over time, with an error that covers how it scatters", () => {
    const rates = Array.from(
      { length: 200 },
      (_, seed) => WindowRate.estimate(seen(scattered(1700, 100, seed), 100_000))!,
    );
    const off = rates.map(({ error, rate }) => Math.abs(rate * 1.7 - 1) / error);
    expect(off.filter((errors) => errors < 1).length / off.length).toBeGreaterThan(0.6);
    expect(off.filter((errors) => errors < 2.5).length / off.length).toBeGreaterThan(0.95);
    // A window's time has a deviation of 29 %, and about 58 are seen.
    const mean = rates.reduce((sum, { error }) => sum + error, 0) / rates.length;
    expect(mean).toBeGreaterThan(0.03);
    expect(mean).toBeLessThan(0.05);
  });

  it("errs by little where windows are even, though looks are a second apart", () => {
    const { error, rate } = WindowRate.estimate(
      seen(
        Array.from({ length: 60 }, (_, i) => 1700 * (i + 1)),
        100_000,
      ),
    )!;
    expect(Math.abs(rate * 1.7 - 1)).toBeLessThan(0.01);
    expect(error).toBeLessThan(0.015);
  });

  it("leaves the first windows out, and a pause with those that follow it", () => {
    const slow = [5000, 10_000];
    const even = (from: number) => Array.from({ length: 20 }, (_, i) => from + 2000 * i);
    const before = seen([...slow, ...even(12_000)], 51_000, WindowRate.start(3));
    const burst = [90_000, 90_100, 90_200];
    const doneAt = [...slow, ...even(12_000), ...burst, ...even(92_000)];
    let pace = WindowRate.paused(before, 26);
    for (let at = 91_000; at <= 131_000; at += 1000) {
      pace = WindowRate.add(pace, { elapsedMs: at, lookMs: 1000, windows: doneAt.filter((time) => time <= at).length });
    }
    expect(WindowRate.estimate(before)?.rate).toBeCloseTo(0.5, 6);
    expect(WindowRate.estimate(pace)?.rate).toBeCloseTo(0.5, 6);
    expect(WindowRate.estimate(pace)!.ms).toBeGreaterThan(70_000);
  });

  it("goes back five minutes and no further", () => {
    const doneAt = Array.from({ length: 400 }, (_, i) => (i < 200 ? 2000 * (i + 1) : 400_000 + 1000 * (i - 199)));
    const { ms, rate } = WindowRate.estimate(seen([...doneAt, 601_000], 700_000))!;
    expect(ms).toBeLessThanOrEqual(300_000);
    expect(rate).toBeGreaterThan(0.6);
  });
});
