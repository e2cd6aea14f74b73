/** The choice of a report's episodes. */
import { describe, expect, it } from "vitest";
import type { EpisodeCard } from "../../../../src/observe/watch/Api.ts";
import { chooseEpisodes } from "../../../../src/observe/watch/report/chooseEpisodes.ts";

let group = 0;
const card = (change: Partial<EpisodeCard>): EpisodeCard => ({
  step: 0,
  split: "train",
  group: group++,
  member: 0,
  tag: "Bandit",
  seed: 0,
  success: false,
  reward: 0,
  verdict: "kept",
  turns: 1,
  tokens: 10,
  outcome: "Done",
  ...change,
});

const won = card({ split: "val", success: true, verdict: null });
const lost = card({ split: "val", verdict: null });
const early = card({ step: 1 });
const idle = card({ step: 2, verdict: "zero" });
const long = card({ step: 3, tokens: 99 });
const cut = card({ step: 4, verdict: "rule" });
const broken = card({ step: 5, verdict: "failed" });
const late = card({ step: 6 });
const wonLate = card({ step: 6, split: "val", success: true, verdict: null });
const cards = [won, lost, early, idle, long, cut, broken, late, wonLate];

describe("the choice", () => {
  const choices = chooseEpisodes(cards.toReversed());

  it("has the first and the last of each kind, and the longest", () => {
    const why = Object.fromEntries(choices.map((choice) => [choice.card.group, choice.why]));
    expect(why[wonLate.group]).toEqual(["last validation success"]);
    expect(why[won.group]).toContain("first validation success");
    expect(why[lost.group]).toContain("last validation failure");
    expect(why[late.group]).toEqual(["last group trained on"]);
    expect(why[early.group]).toEqual(["first group trained on"]);
    expect(why[cut.group]).toEqual(["last group left out"]);
    expect(why[idle.group]).toEqual(["first group left out"]);
    expect(why[broken.group]).toEqual(["last failed group"]);
    expect(why[long.group]).toEqual(["longest of training"]);
  });

  it("has each group once, however many reasons there are", () => {
    expect(new Set(choices.map((choice) => choice.card.group)).size).toBe(choices.length);
    expect(chooseEpisodes([lost])).toEqual([
      { card: lost, why: ["last validation failure", "first validation failure", "longest of validation"] },
    ]);
    expect(chooseEpisodes([])).toEqual([]);
  });
});
