/** Records of a group by member. */
import { describe, expect, it } from "vitest";
import {
  countMemberTokens,
  countMemberTurns,
  membersOf,
  outcomeText,
} from "../../../../../src/observe/watch/page/episodes/members.ts";
import { episodeRecord, turnRecord } from "../../../../build/records.ts";

describe("the members of a group", () => {
  it("stand in order, each with its token sequences in order", () => {
    const records = [
      episodeRecord({ member: 2 }),
      episodeRecord({ member: 0, sequence: 1, turns: [turnRecord(["a"]), turnRecord(["b", "c"])] }),
      episodeRecord({ member: 0, sequence: 0, turns: [turnRecord(["d"])] }),
    ];
    const members = membersOf(records);
    expect(members.map(({ member, sequences }) => [member, sequences.map(({ sequence }) => sequence)])).toEqual([
      [0, [0, 1]],
      [2, [0]],
    ]);
    expect([countMemberTurns(members[0]!), countMemberTokens(members[0]!)]).toEqual([3, 4]);
  });

  it("end in words", () => {
    expect(outcomeText({ _tag: "Truncated", reason: "max_turn", success: false })).toBe(
      "cut after the most turns of an episode",
    );
    expect(outcomeText({ _tag: "Failed", reason: "step_error", message: "no such move" })).toBe(
      "failed: a step failed: no such move",
    );
  });
});
