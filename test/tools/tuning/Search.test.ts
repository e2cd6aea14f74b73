import { describe, expect, it } from "vitest";
import type { Machine } from "../../../src/tools/simulation/replay/Machine.ts";
import type { Settings } from "../../../src/tools/simulation/replay/Training.ts";
import { predict } from "../../../src/tools/tuning/Predict.ts";
import { type SearchResult, search, trilemma } from "../../../src/tools/tuning/Search.ts";
import { type Bounds, passChoices, sameSettings, threadsSpace, variations } from "../../../src/tools/tuning/Space.ts";
import { machine, settings, workload } from "./synthetic.ts";

const bounds: Bounds = {
  cores: 2,
  groups: 8,
  groupSize: 8,
  maxStaleness: 0,
  fits: ({ microBatchTokens, slots }) => slots <= 32 && microBatchTokens <= 1024,
};

const found = (real: Machine, from: Settings, within: Partial<Bounds> = {}): SearchResult => {
  const searching = search(real, from, workload, { ...bounds, ...within });
  for (;;) {
    const step = searching.next();
    if (step.done === true) return step.value;
  }
};

/** Episodes wait for a server: only more of them at once help. */
const waiting: Machine = { ...machine, steps: [150], stepComputes: 0 };

describe("a search in virtual time", () => {
  it("finds settings that are faster than bad ones", () => {
    const slow: Settings = { ...settings, slots: 8, lanes: 1, microBatchTokens: 512 };
    const { best, shipped } = found(machine, slow);
    expect(best[0]!.predicted.windowsPerHour).toBeGreaterThan(1.2 * shipped.predicted.windowsPerHour);
  });

  it("leaves the bound on staleness alone, unless it may be raised", () => {
    const choices = (most: number) =>
      new Set(variations(settings, { ...bounds, fits: () => true, maxStaleness: most }).map((one) => one.maxStaleness));
    expect(choices(0)).toEqual(new Set([2]));
    expect(choices(4)).toEqual(new Set([1, 2, 3, 4]));
  });

  it("takes no settings that do not fit", () => {
    const fits = ({ lanes, microBatchTokens, slots }: Settings) =>
      lanes === 1 && slots === 16 && microBatchTokens <= 1024;
    const { best } = found(machine, { ...settings, slots: 16, lanes: 1, microBatchTokens: 512 }, { fits });
    expect(best.every((one) => fits(one.settings))).toBe(true);
    expect(best[0]!.settings.microBatchTokens).toBe(1024);
  });

  it.each([
    ["async", 32],
    ["sync", 16],
  ] as const)("looks at no fewer slots than the probes did: %s", (mode, fewest) => {
    const space = threadsSpace({ ...settings, mode, slots: 128 }, { ...bounds, groupSize: 32, fits: () => true });
    expect(Math.min(...space.map(({ slots }) => slots))).toBe(fewest);
  });

  it("gives steps that wait more threads", () => {
    const { best } = found(
      waiting,
      { ...settings, stepThreads: 1, stepConcurrency: 1 },
      { fits: ({ microBatchTokens, slots }) => slots === 64 && microBatchTokens === 1024 },
    );
    expect(best[0]!.settings.stepConcurrency).toBe(2);
  });

  it("shows other bounds on staleness: none behind in sync, the more the larger the bound", () => {
    const others = trilemma(machine, settings, workload, () => true);
    const behind = others.map(({ predicted }) => predicted.meanBehind);
    expect(others.map((one) => [one.settings.mode, one.settings.maxStaleness])).toEqual([
      ["sync", 2],
      ["async", 1],
      ["async", 4],
      ["async", 8],
    ]);
    expect(behind[0]).toBe(0);
    expect(behind[1]).toBeLessThanOrEqual(behind[2]!);
    for (const { predicted, settings } of others.slice(1)) {
      expect(predicted.mostBehind).toBeLessThanOrEqual(settings.maxStaleness);
    }
  });

  it("finds nothing twice, neither as the same settings nor as others that are played alike", () => {
    // One pass holds a whole optimiser step: a second lane has nothing to do.
    const slow: Settings = { ...settings, slots: 16, lanes: 1, microBatchTokens: 1024 };
    const { best } = found(machine, slow, { fits: ({ slots }) => slots >= 64 });
    expect(new Set(best.map((one) => JSON.stringify(one.settings))).size).toBe(best.length);
    expect(new Set(best.map((one) => JSON.stringify(one.predicted))).size).toBe(best.length);
  });

  it("varies to other settings only", () => {
    const others = variations(settings, { ...bounds, fits: () => true, maxStaleness: 4 });
    expect(others.filter((one) => sameSettings(one, settings))).toEqual([]);
  });

  it("offers each size of a pass once", () => {
    expect(passChoices(64)).toEqual([64, 128, 256]);
    expect(passChoices(1024)).toEqual([512, 1024, 2048, 4096]);
  });

  it("is reproducible", () => {
    expect(predict(machine, settings, workload, 8)).toEqual(predict(machine, settings, workload, 8));
  });
});
