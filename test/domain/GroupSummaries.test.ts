import { describe, expect, it } from "vitest";
import type { Event } from "../../src/domain/Event.ts";
import { GroupSummaries } from "../../src/domain/GroupSummaries.ts";
import { finished, summaryWith } from "../build/events.ts";

const withEpisode = (group: number): Event => finished(group, { episodes: [summaryWith()] });

/** The groups among 1 to 3 that still have their episodes after an event. All three have ended before it. */
const rememberedAfter = (event: Event): readonly number[] => {
  const summaries = new GroupSummaries();
  for (const happened of [withEpisode(1), withEpisode(2), withEpisode(3), event]) summaries.observe(happened);
  return [1, 2, 3].filter((group) => summaries.episodesOf(group).length > 0);
};

describe("the summaries of groups", () => {
  it("are there from the end of a group until its step is closed, or it is dropped", () => {
    expect(rememberedAfter({ _tag: "Scored", window: 0 })).toEqual([1, 2, 3]);
    expect(rememberedAfter({ _tag: "StepClosed", step: 1, groups: [1, 3], seconds: 1 })).toEqual([2]);
    expect(rememberedAfter({ _tag: "Dropped", groups: [{ group: 2, tokens: 3 }], reason: "stopped" })).toEqual([1, 3]);
  });

  it("are none where a run goes on from a checkpoint", () => {
    expect(rememberedAfter({ _tag: "Resumed", step: 0 })).toEqual([]);
  });

  it("forget the groups that ended first where the ends of their steps are missing", () => {
    const summaries = new GroupSummaries();
    for (let group = 0; group <= 65_536; group++) summaries.observe(withEpisode(group));
    expect([0, 1, 65_536].map((group) => summaries.episodesOf(group).length)).toEqual([0, 1, 1]);
  });
});
