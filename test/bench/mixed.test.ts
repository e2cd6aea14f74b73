/** The share of mixed groups, over episodes that are made up. */
import { expect, it } from "vitest";
import { mixedGroups, type PlayedEpisode } from "../../bench/learning/mixed.ts";

/** Episodes of a tag, a word for each group and a digit for each of its episodes. */
const episodes = (tag: string, groups: string): readonly PlayedEpisode[] =>
  groups
    .split(" ")
    .flatMap((group, group_id) => Array.from(group, (digit) => ({ tag, group_id, success: digit === "1" })));

it("counts the groups of each tag that have both outcomes, beside what the mean success lets expect", () => {
  expect(mixedGroups([...episodes("near", "11 10 00 01"), ...episodes("far", "00 00 11 11")])).toEqual([
    { tag: "near", groups: 4, success: 0.5, expected: 0.5, played: 0.5 },
    { tag: "far", groups: 4, success: 0.5, expected: 0.5, played: 0 },
  ]);
});

it("expects no mixed group where every episode ends alike", () => {
  expect(mixedGroups(episodes("near", "111 111"))).toEqual([
    { tag: "near", groups: 2, success: 1, expected: 0, played: 0 },
  ]);
});
