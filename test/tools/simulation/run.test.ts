import { expect, it } from "@effect/vitest";
import { Effect } from "effect";
import fc from "fast-check";
import { describe } from "vitest";
import { draw, kinds } from "../../../bench/latency.ts";
import { engineLine, idealLine, serviceTimes, type TimedStage } from "../../../bench/line.ts";
import { inVirtualTime } from "../../../bench/virtualClock.ts";
import { stream } from "../../../src/domain/Random.ts";
import { type LineStage, line } from "../../../src/tools/simulation/line.ts";
import type { RunShape } from "../../../src/tools/simulation/RunShape.ts";
import { run } from "../../../src/tools/simulation/run.ts";
import { assertProperty } from "../../property.ts";

describe("a line of stages in virtual time", () => {
  it("takes ceil(items / slots) services where one stage has equal times", () => {
    const left = line(10, [{ inbox: 1, concurrency: 4, service: () => 5 }]);
    expect(left.at(-1)).toBe(15);
  });

  it("is the longest service per item behind the time to fill", () => {
    const stage = (ms: number): LineStage => ({ inbox: 2, concurrency: 1, service: () => ms });
    expect(line(20, [stage(3), stage(7), stage(2)]).at(-1)).toBe(3 + 7 + 2 + 19 * 7);
  });

  it("follows the recurrence of finite buffers between single servers", () => {
    const time = fc.integer({ min: 0, max: 20 });
    const stages = fc.array(
      fc.tuple(fc.integer({ min: 1, max: 3 }), fc.array(time, { minLength: 12, maxLength: 12 })),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    assertProperty(
      fc.property(stages, (given) => {
        // departed(k, n) = max(begun(k, n) + time(k, n), begun(k + 1, n - inbox of k + 1))
        const begun = given.map(() => Array<number>(12).fill(0));
        const departed = given.map(() => Array<number>(12).fill(0));
        for (let n = 0; n < 12; n++) {
          given.forEach(([, times], k) => {
            begun[k]![n] = Math.max(k === 0 ? 0 : departed[k - 1]![n]!, n === 0 ? 0 : departed[k]![n - 1]!);
            const room = k + 1 < given.length ? n - given[k + 1]![0] : -1;
            departed[k]![n] = Math.max(begun[k]![n]! + times[n]!, room < 0 ? 0 : begun[k + 1]![room]!);
          });
        }
        const left = line(
          12,
          given.map(([inbox, times]) => ({ inbox, concurrency: 1, service: (item) => times[item]! })),
        );
        expect(left).toEqual(departed.at(-1));
      }),
      { numRuns: 60 },
    );
  });

  const stages: readonly TimedStage[] = [
    { name: "generate", inbox: 8, concurrency: 8, mean: 40 },
    { name: "step", inbox: 2, concurrency: 4, mean: 20 },
    { name: "score", inbox: 1, concurrency: 3, mean: 15 },
  ];
  it.effect.each(kinds)("is what the engine gives on a virtual clock: %s", (kind) =>
    Effect.gen(function* () {
      const times = serviceTimes(kind, stages, 120, 1);
      const engine = yield* inVirtualTime(engineLine(stages, times, 120));
      const ideal = idealLine(stages, times, 120);
      expect(Math.max(...ideal.map((at, n) => Math.abs(at - engine[n]!)))).toBeLessThan(1e-3);
    }),
  );
});

describe("a run in virtual time", () => {
  const shape: RunShape = {
    mode: "async",
    groups: 4,
    groupSize: 4,
    windows: 12,
    maxStaleness: 2,
    order: "admission",
    rolloutConcurrency: Number.POSITIVE_INFINITY,
    episodes: 16,
    generateSlots: Number.POSITIVE_INFINITY,
    stepSlots: Number.POSITIVE_INFINITY,
    turns: 3,
    generate: () => 0,
    step: () => 1,
    inbox: 8,
    update: () => 2,
  };
  const time = (group: number, member: number, turn: number): number =>
    draw("lognormal(1)", 1, stream({ seed: 1, purpose: "play", counters: [group, member, turn] }));
  const random: RunShape = { ...shape, step: time };
  const indices = (count: number) => Array.from({ length: count }, (_, i) => i);
  const inWindow = (window: number) => indices(4).map((place) => window * 4 + place);

  it("overlaps rollout and update: the longer of the two per window", () => {
    expect(run(shape).consumedAt).toEqual(indices(12).map((window) => 3 * (window + 1) + 2));
    const slow = run({ ...shape, update: () => 5 });
    expect(slow.consumedAt).toEqual(indices(12).map((window) => 3 + 5 * (window + 1)));
  });

  it("adds the two in sync: the longest episode and the update", () => {
    let at = 0;
    const expected = indices(12).map((window) => {
      const episodes = inWindow(window).flatMap((group) =>
        indices(4).map((member) => [1, 2, 3].reduce((sum, turn) => sum + time(group, member, turn), 0)),
      );
      at += Math.max(...episodes) + 2;
      return at;
    });
    run({ ...random, mode: "sync" }).consumedAt.forEach((given, window) => {
      expect(given).toBeCloseTo(expected[window]!, 9);
    });
  });

  it("adds the longest call of every turn in lockstep", () => {
    let at = 0;
    const expected = indices(12).map((window) => {
      for (const turn of [1, 2, 3]) {
        at += Math.max(...inWindow(window).flatMap((group) => indices(4).map((member) => time(group, member, turn))));
      }
      at += 2;
      return at;
    });
    run({ ...random, mode: "lockstep" }).consumedAt.forEach((given, window) => {
      expect(given).toBeCloseTo(expected[window]!, 9);
    });
  });

  it("keeps the bound of admission order and consumes every group once", () => {
    for (const maxStaleness of [0, 1, 2]) {
      const { consumedAt, staleness } = run({ ...random, windows: 40, maxStaleness });
      expect([consumedAt.length, staleness.length]).toEqual([40, 160]);
      expect(Math.max(...staleness)).toBe(maxStaleness);
    }
  });

  it("is bounded by its slots: no faster than all work over all slots", () => {
    const calls = indices(160).flatMap((group) =>
      indices(4).flatMap((member) => [1, 2, 3].map((turn) => time(group, member, turn))),
    );
    const bound = calls.reduce((sum, ms) => sum + ms, 0) / 16;
    const { consumedAt } = run({ ...random, windows: 40, maxStaleness: 8, update: () => 0 });
    expect(consumedAt.at(-1)).toBeGreaterThan(bound);
    expect(consumedAt.at(-1)).toBeLessThan(1.25 * bound);
  });
});
