import { describe, expect, it } from "vitest";
import type { PlayedGroup } from "../../../../src/tools/simulation/replay/Played.ts";
import { lanesUsed, longest, stepsOf } from "../../../../src/tools/simulation/replay/Update.ts";

const group = (...lengths: readonly number[]): PlayedGroup => ({
  kept: true,
  episodes: lengths.map((length) => [{ prompt: length - 4, sampled: 4 }]),
});

describe("what an update is cut into", () => {
  it("has rows of similar length in a pass, padded to the longest", () => {
    expect(stepsOf([group(32, 16, 30, 10)], { miniBatch: 64, microBatchTokens: 64 })).toEqual([[64, 32]]);
  });

  it("deals the episodes to as few optimiser steps as hold them", () => {
    const steps = stepsOf([group(16, 16, 16), group(16, 16)], { miniBatch: 2, microBatchTokens: 64 });
    expect(steps).toEqual([[32], [32], [16]]);
  });

  it("counts token sequences: an episode may have several, and summaries that are not trained have none", () => {
    const turn = (length: number) => ({ prompt: length - 4, sampled: 4, opens: true });
    const summary = (trained: boolean) => ({ ...turn(32), summary: { trained } });
    const episodes = (trained: boolean): PlayedGroup => ({
      kept: true,
      episodes: [[turn(16), summary(trained), turn(16), { prompt: 12, sampled: 4 }]],
    });
    const cut = { miniBatch: 2, microBatchTokens: 32 };
    expect(stepsOf([episodes(false)], cut)).toEqual([[32, 16]]);
    expect(stepsOf([episodes(true)], cut)).toEqual([[32, 16], [32]]);
  });

  it("is nothing where nothing was kept", () => {
    expect(stepsOf([], { miniBatch: 2, microBatchTokens: 64 })).toEqual([]);
  });

  it("leaves lanes without a pass idle", () => {
    expect(lanesUsed(4, [64, 64])).toBe(2);
    expect(lanesUsed(1, [64, 64])).toBe(1);
  });

  it("takes as long as the lane that is done last", () => {
    expect(longest([64, 64, 32], 2)).toBe(96);
    expect(longest([64, 64, 64], 2)).toBe(128);
    expect(longest([64, 64, 32], 1)).toBe(160);
  });
});
