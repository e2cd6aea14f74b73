import { describe, expect, it } from "vitest";
import type { Machine } from "../../../../src/tools/simulation/replay/Machine.ts";
import type { PlayedGroup } from "../../../../src/tools/simulation/replay/Played.ts";
import { run, type Settings, type Work } from "../../../../src/tools/simulation/replay/Training.ts";

/** A decode step takes 1, an update 10 a group (16 padded tokens), everything else nothing; there are cores for all. */
const machine: Machine = {
  cores: 16,
  decode: { step: 1, row: 0, crowding: 0 },
  prefill: { step: 0, token: 0 },
  fedShare: 1,
  turn: 0,
  steps: [0],
  stepComputes: 1,
  update: { token: new Map([[1024, 0.625]]), lanes: new Map([[1, 1]]) },
  window: 0,
  handover: 0,
  slowdown: { generatorByGenerator: 0, generatorByLane: 0, laneByGenerator: 0 },
};

const settings: Settings = {
  mode: "async",
  maxStaleness: 2,
  order: "admission",
  slots: 64,
  generatorThreads: 1,
  lanes: 1,
  microBatchTokens: 1024,
  rolloutConcurrency: 0,
  stepThreads: 1,
  stepConcurrency: 1,
};

/** One episode of one reply of ten tokens. */
const group = (kept = true): PlayedGroup => ({ kept, episodes: [[{ prompt: 0, sampled: 10 }]] });

const work: Work = { groups: 2, miniBatch: 64, prefillTokens: 2048, play: () => group(), step: () => 0 };

const gaps = (at: readonly { readonly at: number }[]) => at.slice(1).map((window, i) => window.at - at[i]!.at);

describe("a training run in virtual time, token by token", () => {
  it("takes generation and update after each other in sync", () => {
    // The prefill gives a reply's first token, nine decode steps the others; an update has two groups of ten tokens.
    const windows = run(machine, { ...settings, mode: "sync" }, work, 5);
    expect(windows[0]!.at).toBe(29);
    expect(gaps(windows)).toEqual([29, 29, 29, 29]);
    expect(windows.every(({ stale }) => stale === 0)).toBe(true);
  });

  it("plays whole windows exactly so many versions behind under a fixed lag, whose versions share no decode step", () => {
    const quick: Machine = { ...machine, update: { ...machine.update, token: new Map([[1024, 0.01]]) } };
    const uneven: Work = {
      ...work,
      play: (number) => ({ kept: true, episodes: [[{ prompt: 0, sampled: number % 2 === 0 ? 10 : 30 }]] }),
    };
    const free = run(quick, settings, uneven, 12);
    const lagged = run(quick, { ...settings, schedule: "fixed_lag" }, uneven, 12);
    expect(lagged.slice(2).map(({ trained, versionsBehind }) => versionsBehind / trained)).toEqual(Array(10).fill(2));
    expect(free.at(-1)!.versionsBehind).toBeLessThan(lagged.at(-1)!.versionsBehind);
    // A step takes as long for the rows of one version as for all, so three open windows take up to three times as long.
    expect(lagged.at(-1)!.at / free.at(-1)!.at).toBeCloseTo(2.35, 1);
  });

  it("lags behind nothing in sync, whatever the schedule", () => {
    const sync: Settings = { ...settings, mode: "sync" };
    expect(run(machine, { ...sync, schedule: "fixed_lag" }, work, 5)).toEqual(run(machine, sync, work, 5));
  });

  it("plays token sequences of one turn each, and summaries that step no environment and are not trained", () => {
    const reply = { prompt: 0, sampled: 10, opens: true };
    const playedGroup: PlayedGroup = {
      kept: true,
      episodes: [[reply, { ...reply, summary: { trained: false } }, reply]],
    };
    let steps = 0;
    const step = (): number => {
      steps++;
      return 5;
    };
    const slow = { ...machine, steps: [5] };
    const [window] = run(slow, { ...settings, mode: "sync" }, { ...work, groups: 1, play: () => playedGroup, step }, 1);
    expect(steps).toBe(2);
    expect(window).toMatchObject({ sampled: 30, trained: 20, tokens: 20 });
  });

  it("makes the next window wait for all of one's time in sync, and the learner for its hand-over in async", () => {
    const slow = { ...machine, window: 7, handover: 3 };
    expect(gaps(run(slow, { ...settings, mode: "sync" }, work, 4))).toEqual([36, 36, 36]);
    expect(gaps(run(slow, settings, work, 6)).every((gap) => gap === 23)).toBe(true);
  });

  it("is bound by the slower of the two in async, its tokens as stale as admission allows", () => {
    const windows = run(machine, settings, work, 8);
    expect(gaps(windows).every((gap) => gap === 20)).toBe(true);
    expect(windows.at(-1)).toMatchObject({ trained: 20, stale: 20, versionsBehind: 40, mostBehind: 2, learning: 20 });
  });

  it("never trains on a token that is more versions behind than the bound", () => {
    for (const maxStaleness of [1, 2, 3]) {
      const windows = run(machine, { ...settings, maxStaleness }, work, 12);
      expect(Math.max(...windows.map(({ mostBehind }) => mostBehind))).toBeLessThanOrEqual(maxStaleness);
    }
  });

  it("trains on no group that the filter leaves out, and makes no version of a window without any", () => {
    const windows = run(machine, settings, { ...work, play: (number) => group(number % 4 < 2) }, 6);
    expect(windows.map(({ trained }) => trained)).toEqual([20, 0, 20, 0, 20, 0]);
    expect(windows.every(({ sampled }) => sampled === 20)).toBe(true);
  });

  it("decodes at most as many replies at once as there are slots", () => {
    const wide = run(machine, { ...settings, mode: "sync" }, { ...work, groups: 4 }, 1);
    const narrow = run(machine, { ...settings, mode: "sync", slots: 2 }, { ...work, groups: 4 }, 1);
    expect(wide[0]!.decodeSteps).toBe(9);
    expect(narrow[0]!.decodeSteps).toBeGreaterThanOrEqual(18);
  });

  it("counts every token it samples", () => {
    const windows = run(machine, settings, work, 6);
    expect(windows.reduce((sum, { generated }) => sum + generated, 0)).toBe(6 * 20);
  });
});
