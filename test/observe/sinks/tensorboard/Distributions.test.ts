import { describe, expect, it } from "vitest";
import type { EpisodeSummary, VersionRun } from "../../../../src/domain/EpisodeSummary.ts";
import type { Event, JudgedGroup } from "../../../../src/domain/Event.ts";
import { Distributions } from "../../../../src/observe/sinks/tensorboard/Distributions.ts";
import { finished, summaryWith } from "../../../build/events.ts";

const episode = (...versions: readonly VersionRun[]): EpisodeSummary => summaryWith({ turns: 2, versions });

const ended = (group: number, ...episodes: readonly EpisodeSummary[]): Event =>
  finished(group, { tag: "Sokoban", episodes });

const judged = (group: number, verdict: JudgedGroup["verdict"]): JudgedGroup => ({ group, verdict, reward: group });

const verdict: Event = {
  _tag: "Verdict",
  window: 4,
  kept: [1],
  filtered: [2],
  judged: [{ ...judged(1, "kept"), score: 0.5 }, judged(2, "zero"), judged(3, "failed")],
};

const learning: Event = { _tag: "Learning", window: 4, from: 9 };
const updated: Event = { _tag: "Updated", window: 4, groups: [1], version: 10, tokens: 8 };

const names = (found: readonly { readonly tag: string }[]) => found.map(({ tag }) => tag.replace("distribution/", ""));

describe("the distributions of a window", () => {
  it("are those of its usable episodes and groups, at the step of the window", () => {
    const state = new Distributions();
    const before = [
      ended(1, episode([9, 3]), episode([8, 5])),
      ended(2, episode([9, 4]), { ...episode(), failed: true }),
    ];
    for (const event of before) expect(state.observe(event)).toEqual([]);
    const found = state.observe(verdict);
    expect(names(found)).toEqual([
      "episodes/tokens",
      "episodes/turns",
      "episodes/reward",
      "groups/reward",
      "groups/filter_score",
    ]);
    expect(found.map(({ step }) => step)).toEqual([5, 5, 5, 5, 5]);
    expect(found.map(({ histogram }) => histogram.count)).toEqual([3, 3, 3, 2, 1]);
    expect(found[0]?.histogram).toMatchObject({ min: 3, max: 5, sum: 12 });
  });

  it("weigh staleness by sampled token, of trained groups only", () => {
    const state = new Distributions();
    state.observe(ended(1, episode([9, 3], [10, 1]), episode([7, 4])));
    state.observe(ended(2, episode([1, 100])));
    state.observe(learning);
    const [found] = state.observe(updated);
    expect(found).toMatchObject({ tag: "distribution/staleness/tokens", step: 5 });
    expect(found?.histogram).toMatchObject({ min: -1, max: 2, count: 8, sum: 7 });
    expect(found?.histogram.counts).toEqual([1, 3, 0, 4]);
  });

  it("forget the groups of a closed step and those that are dropped", () => {
    const state = new Distributions();
    state.observe(ended(1, episode([9, 3])));
    state.observe(ended(2, episode([9, 3])));
    state.observe({ _tag: "Dropped", groups: [{ group: 2, tokens: 3 }], reason: "stopped" });
    state.observe({ _tag: "StepClosed", step: 5, groups: [1], seconds: 1 });
    expect(names(state.observe(verdict))).toEqual(["groups/reward", "groups/filter_score"]);
    state.observe(learning);
    expect(state.observe(updated)).toEqual([]);
  });
});
