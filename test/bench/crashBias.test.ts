/** The bias of crashes, over made episodes whose truth is known. */
import { describe, expect, it } from "vitest";
import { crashBias } from "../../bench/crashBias.ts";
import type { Episode } from "../../src/domain/Episode.ts";
import type { Group } from "../../src/domain/Group.ts";
import { episodeOfTurns, lost, sampledOf, turnOf, won } from "../build/episodes.ts";
import { promptOf } from "../build/groups.ts";

const episode = (group: number, member: number, calls: number, success: boolean): Episode =>
  episodeOfTurns(
    group,
    member,
    Array.from({ length: calls }, (_, at) =>
      turnOf({ sampled: sampledOf(2), reward: success && at === calls - 1 ? 1 : 0 }),
    ),
    { outcome: success ? won : lost },
  );

/** Half of each group succeeds in one call; the other half fails in five. */
const groups: readonly Group[] = Array.from({ length: 50 }, (_, group) => ({
  prompt: promptOf(group, 8),
  episodes: Array.from({ length: 8 }, (_, member) => episode(group, member, member < 4 ? 1 : 5, member < 4)),
}));

describe("crashes", () => {
  it("leave the mean as it is where they hit any episode, and lower it where they count as 0", () => {
    const bias = crashBias(groups, 0.05, "any episode", 100);
    expect(bias.success).toBe(0.5);
    expect(bias.crashed).toBeCloseTo(0.05, 2);
    expect(Math.abs(bias.masked)).toBeLessThan(0.002);
    expect(bias.zero).toBeCloseTo(-0.025, 2);
    expect([bias.trueAdvantage, Math.sign(bias.zeroAdvantage)]).toEqual([0.5, -1]);
  });

  it("raise the mean where they hit the episodes that fail, and then count for nothing as 0", () => {
    const bias = crashBias(groups, 0.05, "calls from the third on", 100);
    expect(bias.crashedSuccess).toBe(0);
    expect(bias.masked).toBeCloseTo(0.5 / 0.95 - 0.5, 2);
    expect(bias.zero).toBeCloseTo(0, 10);
  });

  it("change nothing where there are none", () => {
    const { maskedCosine, masked, zero, zeroCosine } = crashBias(groups, 1e-9, "any call", 3);
    expect([masked, zero]).toEqual([0, 0]);
    expect(maskedCosine).toBeCloseTo(1, 6);
    expect(zeroCosine).toBeCloseTo(1, 6);
  });
});
