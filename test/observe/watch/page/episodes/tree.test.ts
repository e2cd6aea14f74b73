/** The calls of an agent's episode as rows: where each stands, and what is said of it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentCall } from "../../../../../src/domain/AgentCall.ts";
import { recordsOf } from "../../../../../src/observe/record/episodeRecords.ts";
import { shortText, shownMessages, toolCallText } from "../../../../../src/observe/watch/page/episodes/callText.ts";
import { callRows, forkTexts, hasCalls } from "../../../../../src/observe/watch/page/episodes/tree.ts";
import { agentEpisode, agentPieces } from "../../../../build/agentEpisodes.ts";
import { groupOfEpisodes } from "../../../../build/groups.ts";
import { episodeRecord, turnRecord } from "../../../../build/records.ts";
import { assertProperty } from "../../../../property.ts";

const records = recordsOf({ step: 1, split: "train" }, groupOfEpisodes(12, [agentEpisode()]), null, agentPieces);

const callOf = (number: number, parent: number | null, changes: Partial<AgentCall> = {}): AgentCall => ({
  ...{ number, parent, fork: null, added: [], calls: [], problems: [] },
  ...changes,
});

/** A record of a sequence for each call. */
const recordsWith = (calls: readonly AgentCall[], discarded: ReadonlySet<number> = new Set()) =>
  calls.map((call, sequence) =>
    episodeRecord({
      sequence,
      turns: [turnRecord(["a"], { call })],
      ...(discarded.has(call.number) ? { discarded: true } : {}),
    }),
  );

describe("the rows of a tree", () => {
  it("stand behind the calls that they go on from, branches deeper and discarded samples aside", () => {
    expect(
      callRows(records).map(({ call, depth, heading, isDiscarded }) => [call.number, depth, isDiscarded, heading]),
    ).toEqual([
      [0, 1, true, "Root 1 of 2: 3 samples of the same messages"],
      [2, 1, true, null],
      [1, 0, false, null],
      [3, 1, false, "Branch 1 of 2 from call 2"],
      [4, 1, false, null],
      [5, 1, false, "Branch 2 of 2 from call 2"],
      [6, 0, false, `Root 2 of 2: begins anew, ${forkTexts.compaction}`],
    ]);
  });

  it("stay at one depth in a lone line of calls", () => {
    const calls = Array.from({ length: 3_000 }, (_, number) => callOf(number, number === 0 ? null : number - 1));
    const rows = callRows(recordsWith(calls));
    expect(rows.map(({ call }) => call.number)).toEqual(calls.map(({ number }) => number));
    expect([new Set(rows.map(({ depth }) => depth)).size, rows[0]?.heading]).toEqual([1, "Root"]);
  });

  it("stand aside of the call that goes on, and above it", () => {
    const calls = [callOf(0, null), callOf(1, 0), callOf(2, 0), callOf(3, 1)];
    expect(callRows(recordsWith(calls, new Set([2]))).map(({ call, depth }) => [call.number, depth])).toEqual([
      [0, 0],
      [2, 1],
      [1, 0],
      [3, 0],
    ]);
  });

  it("are one for each call, behind its parent, whatever a record says", () => {
    const tree = fc.array(fc.record({ number: fc.nat(9), parent: fc.option(fc.nat(9)), discarded: fc.boolean() }), {
      maxLength: 12,
    });
    assertProperty(
      fc.property(tree, (drawn) => {
        const calls = drawn.map(({ number, parent }) => callOf(number, parent));
        const rows = callRows(
          recordsWith(calls, new Set(drawn.flatMap((each) => (each.discarded ? each.number : [])))),
        );
        expect(rows.map(({ call }) => call.number).toSorted()).toEqual(calls.map(({ number }) => number).toSorted());
        for (const [at, { call, parent }] of rows.entries()) {
          if (parent === null) continue;
          expect(parent.number).toBe(call.parent);
          expect(rows.findIndex((row) => row.call === parent)).toBeLessThan(at);
        }
      }),
    );
  });

  it("are drawn of episodes that have calls, and of no others", () => {
    expect([hasCalls(records), hasCalls([episodeRecord()])]).toEqual([true, false]);
  });
});

describe("what is said of a call", () => {
  it("has its tool calls as code writes them", () => {
    expect(
      [{ q: "moon", limit: 3 }, { q: "moon" }, {}, [1, 2], "raw", null].map((values) =>
        toolCallText({ name: "f", arguments: values }),
      ),
    ).toEqual(['f(q: "moon", limit: 3)', 'f("moon")', "f()", "f([1,2])", 'f("raw")', "f(null)"]);
  });

  it("has each result behind the tool call that it answers, also where a client gave it an id of its own", () => {
    const parent = callOf(0, null, {
      calls: [
        { id: "a", name: "f", arguments: {} },
        { id: "b", name: "g", arguments: {} },
      ],
    });
    const titles = (...ids: readonly string[]) => {
      const added = ids.map((call) => ({ role: "tool" as const, call, text: "" }));
      return shownMessages(callOf(1, 0, { added }), parent).map(({ title }) => title);
    };
    expect(titles("b", "a")).toEqual(["g() →", "f() →"]);
    expect(titles("x", "y", "z")).toEqual(["f() →", "g() →", "result"]);
  });

  it("has the tool calls of replies that a client sent along", () => {
    const added = [
      { role: "assistant" as const, text: "I look.", calls: [{ id: "c", name: "look", arguments: { at: "north" } }] },
      { role: "tool" as const, call: "c", text: "a hole" },
    ];
    expect(shownMessages(callOf(0, null, { added }), null)).toEqual([
      { kind: "assistant", title: "assistant, as the client sent it", text: 'I look.\nlook("north")' },
      { kind: "tool", title: 'look("north") →', text: "a hole" },
    ]);
  });

  it("is short on its row", () => {
    expect([shortText(" a\n b "), shortText("x".repeat(200)).length]).toEqual(["a b", 91]);
  });
});
