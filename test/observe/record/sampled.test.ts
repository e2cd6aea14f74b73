import { describe, expect, it } from "vitest";
import type { RunConfig } from "../../../src/config/RunConfig.ts";
import { type ConsumedWindow, validationRecords, windowRecords } from "../../../src/observe/record/sampled.ts";
import type { FilterResult } from "../../../src/selection/filtering/filter.ts";
import { reachConfig } from "../../build/config.ts";
import { episodeOf, failed, turnOf, won } from "../../build/episodes.ts";
import { groupOf, scoredGroupOf } from "../../build/groups.ts";

const pieces = (): readonly string[] => [];
const sequences = [{ turns: [turnOf()] }];

/** Window `index`: groups 0 and 1 are kept, 2 is left out by the rule, 3 failed. */
const consumed = (index: number): ConsumedWindow => {
  const groups = [0, 1, 2].map((group) => groupOf(group, [won, won], { sequences }));
  const scored = groups.map(({ episodes, prompt }) =>
    scoredGroupOf(
      prompt.group,
      episodes.map((episode) => ({ episode, score: 1, turnScores: [1] })),
    ),
  );
  const filtered: FilterResult = {
    kept: scored.slice(0, 2),
    verdicts: [
      { _tag: "Kept", group: 0, score: 3 },
      { _tag: "Kept", group: 1, score: 2 },
      { _tag: "Dropped", group: 2, reason: "rule", score: 1 },
    ],
    keptRatio: 2 / 3,
    metrics: new Map(),
  };
  const lost = groupOf(3, [failed, failed], { sequences });
  return { window: { index, groups, failed: [lost] }, scored: { index, groups: scored }, filtered, batch: null };
};

const config = (trajectory_freq: number, trajectory_groups: number): RunConfig =>
  reachConfig({ trainer: { trajectory_freq, trajectory_groups } });

const groupsOf = (config: RunConfig, index: number): readonly number[] => [
  ...new Set(windowRecords(config, consumed(index), pieces).map(({ group }) => group)),
];

describe("the sampled episodes", () => {
  it("are of the first step and of every so many after it", () => {
    const steps = [0, 1, 2, 3, 4].filter((index) => groupsOf(config(2, 1), index).length > 0);
    expect(steps).toEqual([0, 2, 4]);
    expect([0, 1].filter((index) => groupsOf(config(0, 1), index).length > 0)).toEqual([]);
  });

  it("are whole groups, with all their members", () => {
    const records = windowRecords(config(1, 1), consumed(0), pieces);
    expect(records.map(({ member, step }) => [member, step])).toEqual([
      [0, 1],
      [1, 1],
    ]);
  });

  it("are kept groups and others by turns", () => {
    const kept = [0, 1, 2, 3].map((index) => groupsOf(config(1, 1), index).map((group) => group < 2));
    expect(kept).toEqual([[true], [false], [true], [false]]);
    expect(groupsOf(config(1, 2), 0).filter((group) => group < 2)).toHaveLength(1);
  });

  it("are all groups of a window where that many are asked for, failed ones too, with their verdicts", () => {
    const records = windowRecords(config(1, 100), consumed(0), pieces).filter(({ member }) => member === 0);
    expect(records.map(({ group, verdict }) => [group, verdict])).toEqual([
      [0, "kept"],
      [1, "kept"],
      [2, "rule"],
      [3, "failed"],
    ]);
  });

  it("are the same whenever they are chosen again, and others under another seed", () => {
    const steps = Array.from({ length: 20 }, (_, i) => i);
    const chosen = (seed: number) =>
      steps.map((index) => {
        const run = config(1, 1);
        return groupsOf({ ...run, run: { ...run.run, seed } }, index)[0];
      });
    expect(chosen(1)).toEqual(chosen(1));
    expect(chosen(1)).not.toEqual(chosen(2));
  });

  it("of a validation are its first groups, until there are enough episodes", () => {
    const groups = [0, 1, 2].map((group) => ({
      ...groupOf(group, []),
      episodes: [0, 1].map((member) => episodeOf(group, member, { sequences })),
    }));
    const records = validationRecords(groups, 5, 3, pieces);
    expect(records.map(({ group, member, split }) => [group, member, split])).toEqual([
      [0, 0, "val"],
      [0, 1, "val"],
      [1, 0, "val"],
      [1, 1, "val"],
    ]);
    expect(validationRecords(groups, 5, 0, pieces)).toEqual([]);
  });
});
