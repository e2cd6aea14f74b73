import { describe, expect, it } from "vitest";
import type { JudgedGroup } from "../../../../src/domain/Event.ts";
import { cutScore, windowView } from "../../../../src/observe/watch/store/windows.ts";

const judged = (verdict: JudgedGroup["verdict"], ...scores: readonly number[]): readonly JudgedGroup[] =>
  scores.map((score, group) => ({ group, verdict, score, reward: 0 }));

describe("the cut of a window", () => {
  it.each([
    ["the least score kept", [...judged("kept", 3, 2), ...judged("rule", 1, 0.5)], 2],
    ["the greatest one where the smallest are kept", [...judged("kept", 1, 2), ...judged("rule", 3, 4)], 2],
    ["the least one where all are kept", judged("kept", 5, 4), 4],
    ["not that of groups without spread", [...judged("kept", 1, 2), ...judged("zero", 0)], 1],
    ["absent where nothing is kept", judged("rule", 1), null],
  ] as const)("is %s", (_, groups, cut) => {
    expect(cutScore(groups)).toBe(cut);
  });
});

it("is of the step that trains it, however early its verdict came", () => {
  const line = { step: 1, at: 5, _tag: "Verdict", window: 2, kept: [], filtered: [], judged: [] } as const;
  expect(windowView(line)).toEqual({ window: 2, step: 3, at: 5, groups: [], cut: null });
});
